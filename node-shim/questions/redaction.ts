// Removes secrets from the lines of an answer, and makes control characters visible. This file has the whole list.
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import { visible } from "../../shared/protocol/printable.ts";

const REDACTED = "[redacted]";

/** The words whose value is secret, as a part of a name: DB_PASSWORD, x-api-key, client_secret. */
const SECRET_WORD =
  "(?:passwor[dt]|passwd|passphrase|(?<![a-z])pass(?![a-z])|pwd|(?<![a-z])psk|secret|token|credentials?|sess(?:ion)?[_-]?id|" +
  "(?:api|access|account|certificate|client|encryption|master|pre-?shared|private|shared|signing)[_-]?key)";
/** A quote, also in JSON that is a text of other JSON. */
const QUOTE = String.raw`(?:\\{0,7}["'])`;
/** What stands between a name and its value. A log for a terminal may have a colour that ends behind the name. */
const IS = String.raw`${QUOTE}?(?:\\u001b\[[\d;]{0,8}m)?\s{0,32}(?:\+?[:=]{1,2}>?|->|%3[ad]|\\u003d)\s{0,32}`;
/** A value: in quotes, in quotes that are escaped, or up to the next separator. */
const VALUE = String.raw`(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|\\".*?(?:(?<!\\)\\"|$)|\\{2,7}"[^"]*"?|[^\s"',;&]+)`;

/**
 * Each pattern with its replacement. A repetition that another part of its pattern follows is bounded: otherwise a
 * crafted line could take forever.
 */
const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // The rest of the line is secret: headers of HTTP, and the environment of a unit.
  [new RegExp(String.raw`((?:authorization|cookies?)${QUOTE}?\s{0,4}[:=]).*`, "gi"), `$1 ${REDACTED}`],
  [/\b(environment(?:files?)?=).*/gi, `$1${REDACTED}`],
  [/\b(bearer|basic)\s{1,4}[\w+/=.~-]{16,}/gi, `$1 ${REDACTED}`],
  [new RegExp(String.raw`(${SECRET_WORD}[\w-]{0,32}${IS})${VALUE}`, "gi"), `$1${REDACTED}`],
  // A name and its value as two fields, as a pod's environment has them; and an element of XML.
  [
    new RegExp(String.raw`(${SECRET_WORD}[\w-]{0,32}${QUOTE}?[\s,;]{1,8}${QUOTE}?value${IS})${VALUE}`, "gi"),
    `$1${REDACTED}`,
  ],
  [new RegExp(String.raw`(<[\w:-]{0,32}${SECRET_WORD}[\w-]{0,32}>)[^<]+`, "gi"), `$1${REDACTED}`],
  // An argument of a program: --db-password VALUE, and -u USER:PASSWORD.
  [
    new RegExp(String.raw`((?:^|[\s"'])--?[\w-]{0,32}${SECRET_WORD}[\w-]{0,32}\s{1,4})${VALUE}`, "gi"),
    `$1${REDACTED}`,
  ],
  [/((?:^|\s)(?:-u|--user)[\s=]{1,4}["']?[^\s:"']{1,128}:)(?!\d+(?:\s|$))[^\s"']+/g, `$1${REDACTED}`],
  // SQL, a line of .netrc, and a registry's credential in the configuration of Docker.
  [/((?:identified by|password)\s{1,4})'[^']*'?/gi, `$1${REDACTED}`],
  [/(\blogin\s{1,4}\S{1,128}\s{1,4}password\s{1,4})\S+/gi, `$1${REDACTED}`],
  [new RegExp(String.raw`(${QUOTE}auth${QUOTE}\s{0,4}:\s{0,4})${VALUE}`, "g"), `$1${REDACTED}`],
  // The user name and password in a URL, a token in the place of both, and a signature or key in its query.
  [
    /([a-z0-9]:\/\/)(?:[^\s/@:"'<>]{0,1024}:(?!\d{1,5}[/?#])(?:[^\s/?#"'<>]{0,1024}|(?:(?!\/\/)[^\s@"'<>]){1,1024})|[^\s/?#:@"'<>]{16,1024})@/gi,
    `$1${REDACTED}@`,
  ],
  [/([?&](?:code|key|sig|[\w-]{0,32}signature)=)[^\s&"']{16,}/gi, `$1${REDACTED}`],
  [
    /(\b(?:hooks\.slack\.com|discord(?:app)?\.com\/api\/webhooks|webhook\.office\.com)\/)[^\s"']+/gi,
    `$1${REDACTED}`,
  ],
  // The private part of a JWK, and a JWT or other JSON in base64.
  [/(["'](?:d|k|p|q|dp|dq|qi)["']\s{0,4}:\s{0,4})["'][\w-]{16,}["']/g, `$1${REDACTED}`],
  [/\beyJ[\w-]{8,}(?:\.[\w-]*)*/g, REDACTED],
  // Tokens that have a known form: rollcall's, those of Kubernetes and its like, of cloud providers and well-known services.
  [/\brc[a-z]\d?_[\w-]{16,}/g, REDACTED],
  [/\b(?:whsec_[\w+/-]{16,}={0,2}|K10[0-9a-f]{64}::\S+|sha256~[\w-]{16,})/g, REDACTED],
  [/\b[a-z0-9]{6}\.(?=[a-z]{0,15}\d)[a-z0-9]{16}\b/g, REDACTED],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, REDACTED],
  [
    /\b(?:AIza|gh[opsur]_|github_pat_|gl[a-z]{2,5}-|xox[abeprs]-|xapp-|[rs]k_(?:live|test)_|sk-|npm_)[\w-]{16,}/g,
    REDACTED,
  ],
  [
    /\b(?:AGE-SECRET-KEY-|dckr_pat_|do[opr]_v1_|hf_|hv[brs]\.|SG\.|shp[a-z]{2}_|tskey-|ya29\.)[\w.-]{16,}/g,
    REDACTED,
  ],
  [/(?:\b|bot)\d{8,10}:AA[\w-]{30,}/g, REDACTED],
  // The hash of a password, as in /etc/shadow.
  [/\$(?:[1567y]|2[abxy]|apr1|gy|argon2(?:id?|d))\$[\w./$=,+-]{16,}/g, REDACTED],
  // A long text in base64, such as a line of a key, or a key of a kubeconfig. A digest in hex is no secret.
  [
    /(?<![\w+/=-])(?![0-9a-f]+(?![\w+/]))(?=[a-z0-9+/]{0,59}[A-Z])(?=[A-Z0-9+/]{0,59}[a-z])[A-Za-z0-9+/]{60,}={0,2}/g,
    REDACTED,
  ],
];

/** A line of a key in PEM, or of another secret in base64. A digest in hex is no secret. */
const BASE64_LINE = /^\s*(?![0-9a-f]+\s*$)[A-Za-z0-9+/]{60,}={0,2}\s*$/;
const PEM_EDGE = /-----? ?(BEGIN|END) [A-Z\d ]{0,32}PRIVATE KEY/g;
/** The most lines of a key in PEM: without an end, the rest of a log would be redacted. */
const PEM_LINES = 200;

/**
 * Cleans a line of an answer. A cleaned line is short, well-formed and printable, and cleaning it again changes nothing.
 * A line does not affect the next one, so that the name of a file cannot hide the names after it.
 */
export function cleanLine(line: string): string {
  return lineCleaner()(line);
}

/**
 * Returns a function that cleans the lines of one log. `first`: the edge where a key in PEM begins. It is END in
 * a log that is read from its end on.
 */
export function lineCleaner(first: "BEGIN" | "END" = "END"): (line: string) => string {
  let keyLinesLeft = 0;
  return (line) => {
    const shown = visible(line.slice(0, QUESTION_LIMITS.lineLength).toWellFormed());
    const edges = [...shown.matchAll(PEM_EDGE)].map(([, edge]) => edge);
    if (edges.length > 0) {
      // A client can bring one edge into a log. That edge must not end the next key at its beginning.
      keyLinesLeft = edges.at(first === "END" ? 0 : -1) === first ? PEM_LINES : 0;
      return REDACTED;
    }
    if (keyLinesLeft > 0) {
      keyLinesLeft--;
      return REDACTED;
    }
    if (BASE64_LINE.test(shown)) return REDACTED;
    const redacted = SECRETS.reduce((text, [pattern, by]) => text.replace(pattern, by), shown);
    return redacted.slice(0, QUESTION_LIMITS.lineLength).toWellFormed();
  };
}
