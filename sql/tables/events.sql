/* Which kinds of events each person has; through is the kind of the event that it goes through. */
SELECT DISTINCT
  number,
  class,
  event,
  through
FROM rows_of_events
