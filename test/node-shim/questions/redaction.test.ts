// Tests what no answer may have: secrets in the forms in which logs have them, and characters that a terminal obeys.
import { describe, expect, it, test } from "vitest";
import { cleanLine, lineCleaner } from "../../../node-shim/questions/redaction.ts";
import { QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";

const SECRET = "hunter2hunter2hunter2";

test.each([
  ["a header", `Authorization: Bearer ${SECRET} and more`, "Authorization: [redacted]"],
  ["a header in JSON", `{"authorization":"Basic ${SECRET}"}`, '{"authorization": [redacted]'],
  ["a proxy's header", `proxy-authorization: ${SECRET}`, "proxy-authorization: [redacted]"],
  ["a cookie", `Set-Cookie: sid=${SECRET}; Path=/`, "Set-Cookie: [redacted]"],
  ["a scheme without a header", `sent Bearer ${SECRET}`, "sent Bearer [redacted]"],
  ["the environment of a unit", `Environment=A=b "C=${SECRET}"`, "Environment=[redacted]"],
  ["a variable", `DB_PASSWORD=${SECRET} started`, "DB_PASSWORD=[redacted] started"],
  ["a quoted value", `client_secret: "${SECRET} x", id: 7`, "client_secret: [redacted], id: 7"],
  ["a field of JSON", `{"api-key": "${SECRET}", "a": 1}`, '{"api-key": [redacted], "a": 1}'],
  ["a value with a quote", String.raw`{"api-key":"a\"${SECRET}","a":1}`, '{"api-key":[redacted],"a":1}'],
  [
    "JSON in JSON",
    String.raw`{"log":"{\"pwd\":\"${SECRET}\",\"a\":1}"}`,
    String.raw`{"log":"{\"pwd\":[redacted],\"a\":1}"}`,
  ],
  ["JSON in JSON in JSON", String.raw`\\\"pwd\\\":\\\"${SECRET}\\\"}`, String.raw`\\\"pwd\\\":[redacted]}`],
  ["a header of JSON in JSON", String.raw`{\"Cookie\":\"${SECRET}`, String.raw`{\"Cookie\": [redacted]`],
  ["a header as a variable", `HTTP_COOKIE=sid=${SECRET}; a=b`, "HTTP_COOKIE= [redacted]"],
  ["a hash of Ruby", `{"password"=>"${SECRET}", "a"=>1}`, '{"password"=>[redacted], "a"=>1}'],
  ["a column", `db-password:       ${SECRET} x`, "db-password:       [redacted] x"],
  [
    "a coloured name",
    `\u001b[36mpassword\u001b[0m=${SECRET}`,
    String.raw`\u001b[36mpassword\u001b[0m=[redacted]`,
  ],
  ["a query", `GET /?access_token=${SECRET}&page=2`, "GET /?access_token=[redacted]&page=2"],
  ["an argument", `tool --db-password ${SECRET} --all`, "tool --db-password [redacted] --all"],
  ["a URL", `clone https://bot:${SECRET}@git.example.com/a`, "clone https://[redacted]@git.example.com/a"],
  [
    "a pod's variable",
    `{"name":"DB_PASSWORD","value":"${SECRET}"}`,
    '{"name":"DB_PASSWORD","value":[redacted]}',
  ],
  ["a setting in XML", `<add key="Password" value="${SECRET}"/>`, '<add key="Password" value=[redacted]/>'],
  ["an element of XML", `<password>${SECRET} a</password>`, "<password>[redacted]</password>"],
  ["a short word", `SMTP_PASS=${SECRET} pass: '${SECRET}'`, "SMTP_PASS=[redacted] pass: [redacted]"],
  [
    "a name with an escaped sign",
    String.raw`token%3D${SECRET} pwd\u003d${SECRET}`,
    String.raw`token%3D[redacted] pwd\u003d[redacted]`,
  ],
  ["a session", `PHPSESSID=${SECRET} session_id: ${SECRET}`, "PHPSESSID=[redacted] session_id: [redacted]"],
  ["a key of WLAN", `psk=${SECRET} PresharedKey = ${SECRET}`, "psk=[redacted] PresharedKey = [redacted]"],
  ["a key of a kubeconfig", `client-key-data: ${"LS0t".repeat(9)}`, "client-key-data: [redacted]"],
  [
    "a user of curl",
    `curl -u bot:${SECRET} a --user=b:${SECRET}`,
    "curl -u bot:[redacted] a --user=b:[redacted]",
  ],
  ["SQL", `CREATE ROLE a PASSWORD '${SECRET}'`, "CREATE ROLE a PASSWORD [redacted]"],
  ["a line of .netrc", `machine a login b password ${SECRET}`, "machine a login b password [redacted]"],
  ["a registry's credential", `{"auth": "${SECRET}", "a":1}`, '{"auth": [redacted], "a":1}'],
  [
    "a URL with a token",
    `clone https://${SECRET}@git.example.com/a`,
    "clone https://[redacted]@git.example.com/a",
  ],
  ["a URL whose password has an @", `amqp://a:b@${SECRET}@mq/`, "amqp://[redacted]@mq/"],
  ["a URL whose password has a slash", `amqp://a:b/${SECRET}@mq/`, "amqp://[redacted]@mq/"],
  ["a URL with long names", `amqp://${"a".repeat(200)}:${SECRET.repeat(20)}@mq/`, "amqp://[redacted]@mq/"],
  [
    "a signed URL",
    `GET /?X-Amz-Signature=${SECRET}&sig=${SECRET}`,
    "GET /?X-Amz-Signature=[redacted]&sig=[redacted]",
  ],
  [
    "a webhook",
    `POST https://hooks.slack.com/services/T0/B0/${SECRET} 200`,
    "POST https://hooks.slack.com/[redacted] 200",
  ],
  ["JSON in base64", "got eyJwYXNzd29yZCI6Imh1bnRlcjIifQ", "got [redacted]"],
  ["a JWT", `got eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln`, "got [redacted]"],
  ["a machine's key", `{"kty":"OKP","d":"${SECRET}"}`, '{"kty":"OKP","d":[redacted]}'],
  ["a join token", `joins with rcj1_${"A".repeat(43)}`, "joins with [redacted]"],
  ["an operator's secret", `rco_${"A".repeat(43)}`, "[redacted]"],
  ["keys of clouds", "AKIAIOSFODNN7EXAMPLE ghp_0123456789abcdefghij", "[redacted] [redacted]"],
  ["a receiver's secret", `whsec_${"Ab1/".repeat(10)}==`, "[redacted]"],
  [
    "a token of kubeadm, of k3s",
    `abcdef.0123456789abcdef K10${"0a".repeat(32)}::server:${SECRET}`,
    "[redacted] [redacted]",
  ],
  ["a token of Telegram", `/bot123456789:AA${"x".repeat(33)}/send`, "/[redacted]/send"],
  ["the hash of a password", `root:$6$salt$${SECRET}/.:19000:0`, "root:[redacted]:19000:0"],
  ["base64 in a line of the journal", `app[12]: MIIEpAIB${"QUJDab12".repeat(8)}==`, "app[12]: [redacted]"],
  ["a line of base64", `${"QUJD".repeat(20)}==`, "[redacted]"],
])("%s → redacted", (_, line, expected) => {
  expect(cleanLine(line)).toBe(expected);
});

test.each([
  ["a digest", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
  ["a digest alone", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
  ["words about secrets", "the token has expired; basic authentication failed"],
  ["a path", "/usr/lib/modules/6.1.0-18-amd64/kernel/drivers/net/ethernet/intel/e1000e.ko"],
  ["an attempt to log in", "sshd[7]: Failed password for root from 192.0.2.7 port 22 ssh2"],
  ["a public key's fingerprint", "ssh2: RSA SHA256:AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcdefg"],
  ["a scope in a URL", "GET http://localhost:4873/@a/b https://registry.npmjs.org/@a/b@7.0.0"],
  ["a user in a URL", "clone ssh://git@git.example.com/a"],
  ["numbers of a user and a group", "docker run -u 1000:1000 a"],
  ["a status in a query", "GET /?code=404&key=7 200"],
  ["a tab", "a\tb"],
])("%s → as it is", (_, line) => {
  expect(cleanLine(line)).toBe(line);
});

test.each([
  ["a terminal's colour", "\u001b[31mred\u001b[0m", String.raw`\u001b[31mred\u001b[0m`],
  ["a line break and a bell", "a\r\u0007b", String.raw`a\u000d\u0007b`],
  ["the writing direction", "a\u202eb", String.raw`a\u202eb`],
  ["zeroes", "\0", String.raw`\u0000`],
  ["half a character", "a\ud800", "a\ufffd"],
])("%s → visible", (_, line, expected) => {
  expect(cleanLine(line)).toBe(expected);
});

describe("a key in PEM, read from its end", () => {
  const pem = ["-----BEGIN PRIVATE KEY-----", "QUJD".repeat(16), "QUJD", "-----END PRIVATE KEY-----"];
  const fromEnd = (lines: string[]) => lines.toReversed().map(lineCleaner()).toReversed();

  it("is redacted as a whole", () => {
    expect(fromEnd(["before", ...pem, "after"])).toEqual(["before", ...pem.map(() => "[redacted]"), "after"]);
  });

  it.each(["BEGIN", "END"])("between requests for a path with the edge %s → redacted as well", (edge) => {
    const request = `GET /-----${edge} PRIVATE KEY-----`;
    expect(fromEnd([request, "1", ...pem, "2", request])).not.toContain("QUJD");
  });

  it("in one line → the line before is shown", () => {
    const line = `{"key":"${pem.join(String.raw`\n`)}"}`;
    expect(fromEnd(["before", line])).toEqual(["before", "[redacted]"]);
  });

  it("without a beginning → 200 lines earlier, lines are shown again", () => {
    const lines = fromEnd([...Array.from({ length: 201 }, () => "x"), pem.at(-1)!]);
    expect(lines.filter((line) => line === "x")).toHaveLength(1);
  });
});

it("a long line → cut, also if redaction or escapes make it longer", () => {
  for (const text of ["a", "\0", "pwd=a "])
    expect(cleanLine(text.repeat(100_000))).toHaveLength(QUESTION_LIMITS.lineLength);
});

it("a clean line, cleaned again → the same", () => {
  for (const line of [`Environment=A=${SECRET}`, `token=${SECRET}`, "\u001b[0m", `--password ${SECRET}`])
    expect(cleanLine(cleanLine(line))).toBe(cleanLine(line));
});
