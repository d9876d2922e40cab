CREATE TEMPORARY VIEW kanon_prepared AS
SELECT
  source.place AS place,
  REGEXP_REPLACE(
    source.trimmed,
    '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
    '',
    'g'
  ) AS trimmed,
  CASE WHEN source.codes IN ('-9', 'NA', 'a, b') THEN NULL ELSE source.codes END AS codes,
  CASE WHEN source.numbers IN (-9) THEN NULL ELSE source.numbers END AS numbers,
  CASE WHEN source.wholes IN (-9, 1.5) THEN NULL ELSE source.wholes END AS wholes,
  CASE
    WHEN REGEXP_MATCHES(
      source.comma,
      '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*(?:[+-]?[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)?|(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*[+-]?)[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*(?:[1-9][0-9]{0,2}(?:(?:[.][0-9]{3}){1,4}|(?:[''\x{2019}][0-9]{3}){1,4}|(?:[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}][0-9]{3}){1,4})|[0-9]{1,15})(?:[,][0-9]*)?[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)?[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*\z'
    )
    THEN CAST(LEFT(
      REPLACE(
        REGEXP_REPLACE(REGEXP_REPLACE(source.comma, '[A-Za-z][.]', '', 'g'), '[^0-9,+-]', '', 'g'),
        ',',
        '.'
      ),
      300
    ) AS DOUBLE)
  END AS comma,
  CASE
    WHEN REGEXP_MATCHES(
      CASE
        WHEN REGEXP_REPLACE(
          source."in order",
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ) IN ('K. A.')
        THEN NULL
        ELSE REGEXP_REPLACE(
          source."in order",
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        )
      END,
      '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*(?:[+-]?[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)?|(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*[+-]?)[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*(?:[1-9][0-9]{0,2}(?:(?:[.][0-9]{3}){1,4}|(?:[''\x{2019}][0-9]{3}){1,4}|(?:[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}][0-9]{3}){1,4})|[0-9]{1,15})(?:[,][0-9]*)?[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*(?:[$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦𑿝-𑿠𞋿𞲰元円]|EUR|USD|GBP|CHF|SFr\.?|Fr\.?|CNY|RMB|JPY|SEK|NOK|DKK|kr\.?|PLN|zł|CZK|Kč|HUF|Ft|CAD|AUD|INR|BRL)?[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]*\z'
    )
    THEN CAST(LEFT(
      REPLACE(
        REGEXP_REPLACE(
          REGEXP_REPLACE(
            CASE
              WHEN REGEXP_REPLACE(
                source."in order",
                '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
                '',
                'g'
              ) IN ('K. A.')
              THEN NULL
              ELSE REGEXP_REPLACE(
                source."in order",
                '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
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
    ) AS DOUBLE)
  END AS "in order",
  CASE
    WHEN REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.as_big,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '^[+-]?0*[0-9]{1,38}(\.[0-9]{0,0}0*)?\z'
    )
    THEN TRY_CAST(NULLIF(
      REGEXP_REPLACE(
        source.as_big,
        '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
        '',
        'g'
      ),
      ''
    ) AS BIGINT)
  END AS as_big,
  CASE
    WHEN REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.as_tiny,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '^[+-]?0*[0-9]{1,38}(\.[0-9]{0,0}0*)?\z'
    )
    THEN TRY_CAST(NULLIF(
      REGEXP_REPLACE(
        source.as_tiny,
        '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
        '',
        'g'
      ),
      ''
    ) AS SMALLINT)
  END AS as_tiny,
  CASE
    WHEN REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.as_price,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '^[+-]?0*[0-9]{1,36}(\.[0-9]{0,2}0*)?\z'
    )
    THEN TRY_CAST(NULLIF(
      REGEXP_REPLACE(
        source.as_price,
        '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
        '',
        'g'
      ),
      ''
    ) AS DECIMAL(9, 2))
  END AS as_price,
  CASE
    WHEN REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.as_share,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '^[+-]?0*[0-9]{1,36}(\.[0-9]{0,2}0*)?\z'
    )
    THEN TRY_CAST(NULLIF(
      REGEXP_REPLACE(
        source.as_share,
        '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
        '',
        'g'
      ),
      ''
    ) AS DECIMAL(2, 2))
  END AS as_share,
  CAST(CASE
    WHEN REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source."day",
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[0-9]'
    )
    AND TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source."day",
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '%d.%m.%Y'
    ) >= CAST('1000-01-01' AS DATE)
    THEN TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source."day",
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '%d.%m.%Y'
    )
  END AS DATE) AS "day",
  CAST(CASE
    WHEN REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.moment,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[0-9]'
    )
    AND TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source.moment,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '%d.%m.%Y %H:%M:%S'
    ) >= CAST('1000-01-01' AS DATE)
    THEN TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source.moment,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '%d.%m.%Y %H:%M:%S'
    )
  END AS TIMESTAMP) AS moment,
  CAST(CASE
    WHEN REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.together,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[0-9]'
    )
    AND TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source.together,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '%Y%m%d'
    ) >= CAST('1000-01-01' AS DATE)
    THEN TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source.together,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '%Y%m%d'
    )
  END AS DATE) AS together,
  CAST(CASE
    WHEN REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.chinese,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[0-9]'
    )
    AND TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source.chinese,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '%Y年%m月%d日'
    ) >= CAST('1000-01-01' AS DATE)
    THEN TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source.chinese,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '%Y年%m月%d日'
    )
  END AS DATE) AS chinese,
  CAST(CASE
    WHEN REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.signs,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[0-9]'
    )
    AND TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source.signs,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[%Y] (%m)|%d+'
    ) >= CAST('1000-01-01' AS DATE)
    THEN TRY_STRPTIME(
      NULLIF(
        REGEXP_REPLACE(
          source.signs,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[%Y] (%m)|%d+'
    )
  END AS DATE) AS signs,
  CASE
    WHEN TRY_CAST(TRY_CAST(source.short AS SMALLINT) AS DOUBLE) = source.short
    THEN TRY_CAST(source.short AS SMALLINT)
  END AS short,
  CASE
    WHEN TRY_CAST(TRY_CAST(CAST(source."bit" AS INT) AS SMALLINT) AS INT) = CAST(source."bit" AS INT)
    THEN TRY_CAST(CAST(source."bit" AS INT) AS SMALLINT)
  END AS "bit",
  CASE
    WHEN TRY_CAST(TRY_CAST(source.whole AS BIGINT) AS DOUBLE) = source.whole
    THEN TRY_CAST(source.whole AS BIGINT)
  END AS whole,
  CAST(source."text" AS TEXT) AS "text",
  CASE
    WHEN TRY_CAST(TRY_CAST(source.small AS SMALLINT) AS BIGINT) = source.small
    THEN TRY_CAST(source.small AS SMALLINT)
  END AS small,
  CASE
    WHEN TRY_CAST(TRY_CAST(source.floating AS DOUBLE) AS BIGINT) = source.floating
    THEN TRY_CAST(source.floating AS DOUBLE)
  END AS floating,
  CASE WHEN source.truth = 0 THEN FALSE WHEN source.truth = 1 THEN TRUE END AS truth,
  CAST(source.number AS INT) AS number,
  CASE
    WHEN TRY_CAST(TRY_CAST(source.price AS INT) AS DECIMAL(9, 2)) = source.price
    THEN TRY_CAST(source.price AS INT)
  END AS price,
  CASE WHEN source.free IN (-7) THEN NULL ELSE source.free END AS free,
  CAST(source.written AS TEXT) AS written
FROM t AS source;
