/* The classes that are suppressed where a model is about sensitive values: classes has the measures of the models,
   made in steps as for the verification (see models/). */
SELECT
  $labels
FROM measured AS classes
WHERE
  $fails
