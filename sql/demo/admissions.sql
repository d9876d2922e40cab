/*
The sample table of kanon demo: fictitious hospital admissions, skewed like real ones, with NULLs.
Every value is derived from the number of its row by MD5, so every run on every machine makes the same rows.
Three in four people are admitted once, the fourth twice.
*/
CREATE TABLE admissions AS
WITH draws AS (
  SELECT
    i * 4 // 5 AS number_of_person,
    MD5_NUMBER('person ' || CAST(i * 4 // 5 AS VARCHAR)) AS person,
    MD5_NUMBER('stay ' || CAST(i AS VARCHAR)) AS stay
  FROM RANGE(CAST($rows AS BIGINT)) AS numbers(i)
), uniform AS (
  SELECT
    number_of_person,
    CAST((person >> 108) AS BIGINT) / 1048576.0 AS p1,
    CAST((person >> 88) & 1048575 AS BIGINT) / 1048576.0 AS p2,
    CAST((person >> 68) & 1048575 AS BIGINT) / 1048576.0 AS p3,
    CAST((person >> 48) & 1048575 AS BIGINT) / 1048576.0 AS p4,
    CAST((person >> 28) & 1048575 AS BIGINT) / 1048576.0 AS p5,
    CAST((person >> 8) & 1048575 AS BIGINT) / 1048576.0 AS p6,
    CAST((stay >> 108) AS BIGINT) / 1048576.0 AS s1,
    CAST((stay >> 88) & 1048575 AS BIGINT) / 1048576.0 AS s2,
    CAST((stay >> 68) & 1048575 AS BIGINT) / 1048576.0 AS s3,
    CAST((stay >> 48) & 1048575 AS BIGINT) / 1048576.0 AS s4,
    CAST((stay >> 28) & 1048575 AS BIGINT) / 1048576.0 AS s5
  FROM draws
), people AS (
  SELECT
    *,
    CASE WHEN p2 < 0.53 THEN 'F' ELSE 'M' END AS true_sex,
    CAST(FLOOR(365.25 * CASE WHEN p4 < 0.12 THEN 16 * p3 * p3 ELSE 17 + 80 * POWER(p3, 0.75) END) AS INTEGER) AS age_in_days,
    CAST(FLOOR(45 * POWER(p5, 2.2)) AS INTEGER) AS area,
    CAST(FLOOR(30 * POWER(p6, 1.6)) AS INTEGER) AS office
  FROM uniform
), stays AS (
  SELECT
    *,
    CASE
      WHEN age_in_days < 16 * 365 AND s2 < 0.8 THEN 9
      WHEN true_sex = 'F' AND age_in_days BETWEEN 18 * 365 AND 45 * 365 AND s2 < 0.35 THEN 10
      ELSE [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14][1 + CAST(FLOOR(12 * POWER(s3, 1.5)) AS INTEGER)]
    END AS ward
  FROM people
)
SELECT
  CAST((number_of_person + 1) * 48271 % 100000007 AS INTEGER) AS patient_id,
  CASE
    WHEN true_sex = 'F'
    THEN ['Mary', 'Linda', 'Susan', 'Maria', 'Jennifer', 'Patricia', 'Elizabeth', 'Barbara', 'Ana', 'Karen', 'Nancy', 'Lisa', 'Aisha', 'Margaret', 'Wei', 'Emily', 'Carmen', 'Olga', 'Fatima', 'Zoë'][1 + CAST(FLOOR(20 * POWER(p1, 1.4)) AS INTEGER)]
    ELSE ['James', 'John', 'Robert', 'José', 'Michael', 'William', 'David', 'Richard', 'Ahmed', 'Joseph', 'Thomas', 'Juan', 'Daniel', 'Minh', 'Paul', 'Mark', 'Ivan', 'Kenji', 'Omar', 'Björn'][1 + CAST(FLOOR(20 * POWER(p1, 1.4)) AS INTEGER)]
  END || ' ' || ['Smith', 'Johnson', 'Williams', 'Brown', 'Jones', 'Garcia', 'Miller', 'Davis', 'Rodriguez', 'Martinez', 'Hernandez', 'Lopez', 'Gonzalez', 'Wilson', 'Anderson', 'Thomas', 'Taylor', 'Moore', 'Jackson', 'Martin', 'Lee', 'Perez', 'Thompson', 'White', 'Harris', 'Sanchez', 'Clark', 'Ramirez', 'Lewis', 'Robinson', 'Walker', 'Young', 'Allen', 'King', 'Wright', 'Scott', 'Torres', 'Nguyen', 'Hill', 'Flores', 'Green', 'Adams', 'Nelson', 'Baker', 'Hall', 'Rivera', 'Campbell', 'Mitchell', 'Carter', 'Roberts', 'Gomez', 'Phillips', 'Evans', 'Turner', 'Diaz', 'Parker', 'Cruz', 'Edwards', 'Collins', 'O''Brien'][1 + CAST(FLOOR(60 * (p2 * 997 - FLOOR(p2 * 997))) AS INTEGER)] AS name,
  CASE WHEN p5 >= 0.004 THEN DATE '2022-12-31' - age_in_days END AS birth_date,
  CASE WHEN p4 < 0.994 THEN true_sex END AS sex,
  CASE WHEN p1 >= 0.015 THEN CAST(100 + (area * 197) % 890 AS VARCHAR) || LPAD(CAST((office * 7) % 100 AS VARCHAR), 2, '0') END AS zip,
  DATE '2023-01-01' + CAST(FLOOR(731 * s1) AS INTEGER) AS admission_date,
  ['Internal medicine', 'Cardiology', 'General surgery', 'Orthopedics', 'Emergency', 'Neurology', 'Gastroenterology', 'Oncology', 'Pediatrics', 'Obstetrics', 'Pulmonology', 'Urology', 'Psychiatry', 'Nephrology'][ward] AS department,
  CASE
    WHEN s4 >= 0.01
    THEN [
      ['Pneumonia', 'Type 2 diabetes', 'Sepsis', 'Anemia'],
      ['Heart failure', 'Atrial fibrillation', 'Myocardial infarction', 'Hypertension'],
      ['Appendicitis', 'Gallstones', 'Hernia', 'Bowel obstruction'],
      ['Hip fracture', 'Knee arthrosis', 'Spinal stenosis', 'Wrist fracture'],
      ['Chest pain', 'Injury', 'Intoxication', 'Burn'],
      ['Stroke', 'Epilepsy', 'Multiple sclerosis', 'Migraine'],
      ['Gastritis', 'Pancreatitis', 'Liver cirrhosis', 'Crohn''s disease'],
      ['Breast cancer', 'Lung cancer', 'Colon cancer', 'Lymphoma'],
      ['Bronchiolitis', 'Asthma', 'Gastroenteritis', 'Leukemia'],
      ['Delivery', 'Caesarean section', 'Pre-eclampsia', 'Miscarriage'],
      ['COPD', 'Pulmonary embolism', 'Tuberculosis', 'Asthma'],
      ['Kidney stones', 'Prostate cancer', 'Urinary tract infection', 'Bladder cancer'],
      ['Depression', 'Schizophrenia', 'Alcohol dependence', 'Anxiety'],
      ['Kidney failure', 'Nephritis', 'Kidney transplant', 'HIV disease']
    ][ward][1 + CAST(FLOOR(4 * POWER(s4, 1.6)) AS INTEGER)]
  END AS diagnosis,
  CAST(ROUND(EXP(6.4 + 0.06 * ward + 2.6 * POWER(s5, 1.5)), 2) AS DECIMAL(10, 2)) AS cost
FROM stays
