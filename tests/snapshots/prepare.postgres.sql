CREATE TEMPORARY VIEW pg_temp.kanon_prepared AS
SELECT
  source.place AS place,
  REGEXP_REPLACE(
    CAST(source.trimmed AS TEXT),
    '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
    '',
    'g'
  ) AS trimmed,
  CASE
    WHEN CAST(source.codes AS TEXT) IN ('-9', 'NA', 'a, b')
    THEN NULL
    ELSE CAST(source.codes AS TEXT)
  END AS codes,
  CASE WHEN source.numbers IN (-9) THEN NULL ELSE source.numbers END AS numbers,
  CASE WHEN source.wholes IN (-9, 1.5) THEN NULL ELSE source.wholes END AS wholes,
  CASE
    WHEN CAST(source.comma AS TEXT) ~ '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*(?:[+-]?[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)?|(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[+-]?)[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*(?:[1-9][0-9]{0,2}(?:(?:[.][0-9]{3}){1,4}|(?:[''\u2019][0-9]{3}){1,4}|(?:[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000][0-9]{3}){1,4})|[0-9]{1,15})(?:[,][0-9]*)?[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)?[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
    THEN CAST(LEFT(
      REPLACE(
        REGEXP_REPLACE(
          REGEXP_REPLACE(CAST(source.comma AS TEXT), '[A-Za-z][.]', '', 'g'),
          '[^0-9,+-]',
          '',
          'g'
        ),
        ',',
        '.'
      ),
      300
    ) AS DOUBLE PRECISION)
  END AS comma,
  CASE
    WHEN CASE
      WHEN REGEXP_REPLACE(
        CAST(source."in order" AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
        '',
        'g'
      ) IN ('K. A.')
      THEN NULL
      ELSE REGEXP_REPLACE(
        CAST(source."in order" AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
        '',
        'g'
      )
    END ~ '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*(?:[+-]?[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)?|(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[+-]?)[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*(?:[1-9][0-9]{0,2}(?:(?:[.][0-9]{3}){1,4}|(?:[''\u2019][0-9]{3}){1,4}|(?:[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000][0-9]{3}){1,4})|[0-9]{1,15})(?:[,][0-9]*)?[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)?[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
    THEN CAST(LEFT(
      REPLACE(
        REGEXP_REPLACE(
          REGEXP_REPLACE(
            CASE
              WHEN REGEXP_REPLACE(
                CAST(source."in order" AS TEXT),
                '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
                '',
                'g'
              ) IN ('K. A.')
              THEN NULL
              ELSE REGEXP_REPLACE(
                CAST(source."in order" AS TEXT),
                '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
                '',
                'g'
              )
            END,
            '[A-Za-z][.]',
            '',
            'g'
          ),
          '[^0-9,+-]',
          '',
          'g'
        ),
        ',',
        '.'
      ),
      300
    ) AS DOUBLE PRECISION)
  END AS "in order",
  CASE
    WHEN NULLIF(
      REGEXP_REPLACE(
        CAST(source.as_big AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
        '',
        'g'
      ),
      ''
    ) ~ '^[+-]?0*[0-9]{1,38}(\.[0-9]{0,0}0*)?\Z'
    THEN CASE
      WHEN CAST(NULLIF(
        REGEXP_REPLACE(
          CAST(source.as_big AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
          '',
          'g'
        ),
        ''
      ) AS DECIMAL(38, 0)) BETWEEN -9223372036854775808 AND 9223372036854775807
      THEN CAST(CAST(NULLIF(
        REGEXP_REPLACE(
          CAST(source.as_big AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
          '',
          'g'
        ),
        ''
      ) AS DECIMAL(38, 0)) AS BIGINT)
    END
  END AS as_big,
  CASE
    WHEN NULLIF(
      REGEXP_REPLACE(
        CAST(source.as_tiny AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
        '',
        'g'
      ),
      ''
    ) ~ '^[+-]?0*[0-9]{1,38}(\.[0-9]{0,0}0*)?\Z'
    THEN CASE
      WHEN CAST(NULLIF(
        REGEXP_REPLACE(
          CAST(source.as_tiny AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
          '',
          'g'
        ),
        ''
      ) AS DECIMAL(38, 0)) BETWEEN -32768 AND 32767
      THEN CAST(CAST(NULLIF(
        REGEXP_REPLACE(
          CAST(source.as_tiny AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
          '',
          'g'
        ),
        ''
      ) AS DECIMAL(38, 0)) AS SMALLINT)
    END
  END AS as_tiny,
  CAST(CASE
    WHEN NULLIF(
      REGEXP_REPLACE(
        CAST(source.as_price AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
        '',
        'g'
      ),
      ''
    ) ~ '^[+-]?0*[0-9]{1,36}(\.[0-9]{0,2}0*)?\Z'
    THEN CASE
      WHEN CAST(NULLIF(
        REGEXP_REPLACE(
          CAST(source.as_price AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
          '',
          'g'
        ),
        ''
      ) AS DECIMAL(38, 2)) BETWEEN -9999999.99 AND 9999999.99
      THEN CAST(CAST(NULLIF(
        REGEXP_REPLACE(
          CAST(source.as_price AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+|[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+\Z',
          '',
          'g'
        ),
        ''
      ) AS DECIMAL(38, 2)) AS DECIMAL(9, 2))
    END
  END AS DECIMAL(9, 2)) AS as_price,
  CASE
    WHEN CAST(source."day" AS TEXT) ~ '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
    THEN CASE
      WHEN CAST(SUBSTRING(
        CAST(source."day" AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) >= 1000
      AND CAST(SUBSTRING(
        CAST(source."day" AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.((?:[0-9]{2}|[0-9](?![0-9])))\.[0-9]{4}[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) BETWEEN 1 AND 12
      AND CAST(SUBSTRING(
        CAST(source."day" AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*((?:[0-9]{2}|[0-9](?![0-9])))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) BETWEEN 1 AND CASE
        WHEN CAST(SUBSTRING(
          CAST(source."day" AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.((?:[0-9]{2}|[0-9](?![0-9])))\.[0-9]{4}[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) IN (4, 6, 9, 11)
        THEN 30
        WHEN CAST(SUBSTRING(
          CAST(source."day" AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.((?:[0-9]{2}|[0-9](?![0-9])))\.[0-9]{4}[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) <> 2
        THEN 31
        WHEN CAST(SUBSTRING(
          CAST(source."day" AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) % 400 = 0
        THEN 29
        WHEN CAST(SUBSTRING(
          CAST(source."day" AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) % 4 = 0
        AND CAST(SUBSTRING(
          CAST(source."day" AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) % 100 <> 0
        THEN 29
        ELSE 28
      END
      THEN CAST(SUBSTRING(
        CAST(source."day" AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || '-' || SUBSTRING(
        CAST(source."day" AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.((?:[0-9]{2}|[0-9](?![0-9])))\.[0-9]{4}[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || '-' || SUBSTRING(
        CAST(source."day" AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*((?:[0-9]{2}|[0-9](?![0-9])))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS DATE)
    END
  END AS "day",
  CASE
    WHEN CAST(source.moment AS TEXT) ~ '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
    THEN CASE
      WHEN CAST(SUBSTRING(
        CAST(source.moment AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+((?:[0-9]{2}|[0-9](?![0-9])))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) <= 23
      AND CAST(SUBSTRING(
        CAST(source.moment AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:((?:[0-9]{2}|[0-9](?![0-9])))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) <= 59
      AND CAST(SUBSTRING(
        CAST(source.moment AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:((?:[0-9]{2}|[0-9](?![0-9])))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) <= 59
      AND NOT CASE
        WHEN CAST(source.moment AS TEXT) ~ '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        THEN CASE
          WHEN CAST(SUBSTRING(
            CAST(source.moment AS TEXT),
            '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
          ) AS INT) >= 1000
          AND CAST(SUBSTRING(
            CAST(source.moment AS TEXT),
            '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.((?:[0-9]{2}|[0-9](?![0-9])))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
          ) AS INT) BETWEEN 1 AND 12
          AND CAST(SUBSTRING(
            CAST(source.moment AS TEXT),
            '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*((?:[0-9]{2}|[0-9](?![0-9])))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
          ) AS INT) BETWEEN 1 AND CASE
            WHEN CAST(SUBSTRING(
              CAST(source.moment AS TEXT),
              '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.((?:[0-9]{2}|[0-9](?![0-9])))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
            ) AS INT) IN (4, 6, 9, 11)
            THEN 30
            WHEN CAST(SUBSTRING(
              CAST(source.moment AS TEXT),
              '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.((?:[0-9]{2}|[0-9](?![0-9])))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
            ) AS INT) <> 2
            THEN 31
            WHEN CAST(SUBSTRING(
              CAST(source.moment AS TEXT),
              '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
            ) AS INT) % 400 = 0
            THEN 29
            WHEN CAST(SUBSTRING(
              CAST(source.moment AS TEXT),
              '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
            ) AS INT) % 4 = 0
            AND CAST(SUBSTRING(
              CAST(source.moment AS TEXT),
              '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
            ) AS INT) % 100 <> 0
            THEN 29
            ELSE 28
          END
          THEN CAST(SUBSTRING(
            CAST(source.moment AS TEXT),
            '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
          ) || '-' || SUBSTRING(
            CAST(source.moment AS TEXT),
            '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.((?:[0-9]{2}|[0-9](?![0-9])))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
          ) || '-' || SUBSTRING(
            CAST(source.moment AS TEXT),
            '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*((?:[0-9]{2}|[0-9](?![0-9])))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
          ) AS DATE)
        END
      END IS NULL
      THEN CAST(SUBSTRING(
        CAST(source.moment AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.([0-9]{4})[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || '-' || SUBSTRING(
        CAST(source.moment AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.((?:[0-9]{2}|[0-9](?![0-9])))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || '-' || SUBSTRING(
        CAST(source.moment AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*((?:[0-9]{2}|[0-9](?![0-9])))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || ' ' || SUBSTRING(
        CAST(source.moment AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+((?:[0-9]{2}|[0-9](?![0-9])))\:(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || ':' || SUBSTRING(
        CAST(source.moment AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:((?:[0-9]{2}|[0-9](?![0-9])))\:(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || ':' || SUBSTRING(
        CAST(source.moment AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*(?:[0-9]{2}|[0-9](?![0-9]))\.(?:[0-9]{2}|[0-9](?![0-9]))\.[0-9]{4}[ \t\n\x0B\f\r]+(?:[0-9]{2}|[0-9](?![0-9]))\:(?:[0-9]{2}|[0-9](?![0-9]))\:((?:[0-9]{2}|[0-9](?![0-9])))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS TIMESTAMP)
    END
  END AS moment,
  CASE
    WHEN CAST(source.together AS TEXT) ~ '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}(?:[0-9]{2}|[0-9](?![0-9]))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
    THEN CASE
      WHEN CAST(SUBSTRING(
        CAST(source.together AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})(?:[0-9]{2}|[0-9](?![0-9]))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) >= 1000
      AND CAST(SUBSTRING(
        CAST(source.together AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}((?:[0-9]{2}|[0-9](?![0-9])))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) BETWEEN 1 AND 12
      AND CAST(SUBSTRING(
        CAST(source.together AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}(?:[0-9]{2}|[0-9](?![0-9]))((?:[0-9]{2}|[0-9](?![0-9])))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) BETWEEN 1 AND CASE
        WHEN CAST(SUBSTRING(
          CAST(source.together AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}((?:[0-9]{2}|[0-9](?![0-9])))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) IN (4, 6, 9, 11)
        THEN 30
        WHEN CAST(SUBSTRING(
          CAST(source.together AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}((?:[0-9]{2}|[0-9](?![0-9])))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) <> 2
        THEN 31
        WHEN CAST(SUBSTRING(
          CAST(source.together AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})(?:[0-9]{2}|[0-9](?![0-9]))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) % 400 = 0
        THEN 29
        WHEN CAST(SUBSTRING(
          CAST(source.together AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})(?:[0-9]{2}|[0-9](?![0-9]))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) % 4 = 0
        AND CAST(SUBSTRING(
          CAST(source.together AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})(?:[0-9]{2}|[0-9](?![0-9]))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) % 100 <> 0
        THEN 29
        ELSE 28
      END
      THEN CAST(SUBSTRING(
        CAST(source.together AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})(?:[0-9]{2}|[0-9](?![0-9]))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || '-' || SUBSTRING(
        CAST(source.together AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}((?:[0-9]{2}|[0-9](?![0-9])))(?:[0-9]{2}|[0-9](?![0-9]))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || '-' || SUBSTRING(
        CAST(source.together AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}(?:[0-9]{2}|[0-9](?![0-9]))((?:[0-9]{2}|[0-9](?![0-9])))[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS DATE)
    END
  END AS together,
  CASE
    WHEN CAST(source.chinese AS TEXT) ~ '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}年(?:[0-9]{2}|[0-9](?![0-9]))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
    THEN CASE
      WHEN CAST(SUBSTRING(
        CAST(source.chinese AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})年(?:[0-9]{2}|[0-9](?![0-9]))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) >= 1000
      AND CAST(SUBSTRING(
        CAST(source.chinese AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}年((?:[0-9]{2}|[0-9](?![0-9])))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) BETWEEN 1 AND 12
      AND CAST(SUBSTRING(
        CAST(source.chinese AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}年(?:[0-9]{2}|[0-9](?![0-9]))月((?:[0-9]{2}|[0-9](?![0-9])))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS INT) BETWEEN 1 AND CASE
        WHEN CAST(SUBSTRING(
          CAST(source.chinese AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}年((?:[0-9]{2}|[0-9](?![0-9])))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) IN (4, 6, 9, 11)
        THEN 30
        WHEN CAST(SUBSTRING(
          CAST(source.chinese AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}年((?:[0-9]{2}|[0-9](?![0-9])))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) <> 2
        THEN 31
        WHEN CAST(SUBSTRING(
          CAST(source.chinese AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})年(?:[0-9]{2}|[0-9](?![0-9]))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) % 400 = 0
        THEN 29
        WHEN CAST(SUBSTRING(
          CAST(source.chinese AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})年(?:[0-9]{2}|[0-9](?![0-9]))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) % 4 = 0
        AND CAST(SUBSTRING(
          CAST(source.chinese AS TEXT),
          '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})年(?:[0-9]{2}|[0-9](?![0-9]))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
        ) AS INT) % 100 <> 0
        THEN 29
        ELSE 28
      END
      THEN CAST(SUBSTRING(
        CAST(source.chinese AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*([0-9]{4})年(?:[0-9]{2}|[0-9](?![0-9]))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || '-' || SUBSTRING(
        CAST(source.chinese AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}年((?:[0-9]{2}|[0-9](?![0-9])))月(?:[0-9]{2}|[0-9](?![0-9]))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) || '-' || SUBSTRING(
        CAST(source.chinese AS TEXT),
        '^[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*[ \t\n\x0B\f\r]*[0-9]{4}年(?:[0-9]{2}|[0-9](?![0-9]))月((?:[0-9]{2}|[0-9](?![0-9])))日[ \t\n\x0B\f\r]*[ \t\n\f\r\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*\Z'
      ) AS DATE)
    END
  END AS chinese,
  CASE
    WHEN source.whole >= -9.223372036854776E+18 AND source.whole < 9.223372036854776e+18
    THEN CASE
      WHEN CAST(source.whole AS BIGINT) = source.whole
      THEN CAST(source.whole AS BIGINT)
    END
  END AS whole,
  CASE
    WHEN source."text" = CAST('NaN' AS DOUBLE PRECISION)
    THEN 'nan'
    WHEN ABS(source."text") = CAST('Infinity' AS DOUBLE PRECISION)
    THEN REGEXP_REPLACE(CAST(source."text" AS TEXT), 'Infinity', 'inf')
    WHEN ABS(source."text") >= 1e15 AND ABS(source."text") < 1e16
    THEN REGEXP_REPLACE(CAST(CAST(CAST(source."text" AS TEXT) AS DECIMAL) AS TEXT), '^(-?[0-9]+)$', '\1.0')
    ELSE REGEXP_REPLACE(CAST(source."text" AS TEXT), '^(-?[0-9]+)$', '\1.0')
  END AS "text",
  CASE
    WHEN source.small BETWEEN -32768 AND 32767
    THEN CASE
      WHEN CAST(source.small AS SMALLINT) = source.small
      THEN CAST(source.small AS SMALLINT)
    END
  END AS small,
  CASE
    WHEN CAST(source.floating AS DOUBLE PRECISION) >= -9.223372036854776E+18
    AND CAST(source.floating AS DOUBLE PRECISION) < 9.223372036854776e+18
    THEN CASE
      WHEN CAST(CAST(source.floating AS DOUBLE PRECISION) AS BIGINT) = source.floating
      THEN CAST(source.floating AS DOUBLE PRECISION)
    END
  END AS floating,
  CASE WHEN source.truth = 0 THEN FALSE WHEN source.truth = 1 THEN TRUE END AS truth,
  CAST(CASE WHEN source.number THEN 1 WHEN NOT source.number THEN 0 END AS INT) AS number,
  CASE
    WHEN source.price BETWEEN -2147483648 AND 2147483647
    THEN CASE
      WHEN CAST(source.price AS INT) = source.price
      THEN CAST(source.price AS INT)
    END
  END AS price,
  CAST(CASE WHEN source.free IN (-7) THEN NULL ELSE source.free END AS DECIMAL(9, 2)) AS free,
  CAST(source.written AS TEXT) AS written
FROM t AS source;
