/* The classes that are suppressed if a model is about sensitive values: classes has the measures of the models, made in
   the same steps as for the verification (see models/). */
SELECT
  $labels
FROM measured AS classes
WHERE
  $fails
