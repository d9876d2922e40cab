/* Which kinds of events each person has; $through is the kind of the event that it goes through. */
SELECT DISTINCT
  released_people.kanon_person,
  released_people.class,
  $event AS event,
  $through AS through
FROM rows_of_events
JOIN released_people
  ON released_people.kanon_person = rows_of_events.kanon_person
JOIN kinds
  ON $is_kind
