// Makes requests with paths, methods, headers and names that this client must not use, and requests to the
// operators' API without credentials.
import { ROUTES } from "../../../../shared/protocol/routes.ts";
import { anyRequest, type Attack, type Draw, type Kind, signedRequest } from "../attack.ts";
import { digestOf, encoded, signedBy } from "../jwt.ts";

/** The methods that workerd itself accepts. */
const METHODS = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "LOCK",
  "MERGE",
];

/** The routes of operators, with a query if one is required, and the routes of the recorded machine. */
const OPERATOR_ROUTES = [
  ...Object.entries(ROUTES)
    .filter(([, { who }]) => who !== "machine" && who !== "anybody")
    .map(([name]) => name.replace("{name}", "live-1").replaceAll(/\{\w+\}/g, "1")),
  "GET /readyz?verbose",
  "GET /v1/audit?limit=1",
  "GET /v1/silent-nodes?days=1",
  "POST /v1/session",
].map((request) => request.split(" ") as [method: string, path: string]);

const ODD_NAMES = [
  "",
  ".",
  "..",
  "-a",
  "a-",
  "LIVE-1",
  "live-1.",
  "live_1",
  "%6cive-1",
  "live-1%00",
  "live-1%2f..",
  "%2e%2e",
  "a".repeat(254),
  `${"a.".repeat(127)}a`,
  "xn--a",
  "\u00FC",
  "__proto__",
  "constructor",
  "live-1;x",
  "live-1:report",
  "*",
  "fleet",
];

/** Returns an assertion like Cloudflare Access's, by another issuer. */
function assertion({ random, thief }: Draw): string {
  const claims = {
    email: "admin@example.com",
    aud: ["aud"],
    exp: 4e9,
    iss: "https://team.cloudflareaccess.com",
  };
  const header = { alg: random.pick(["RS256", "EdDSA", "none", "HS256"]), kid: "team-1" };
  return signedBy(thief, header, claims);
}

function credentials(draw: Draw): Record<string, string | string[]> {
  const { random } = draw;
  const guess = random.pick([
    "",
    "undefined",
    "null",
    digestOf(""),
    digestOf("secret"),
    "a".repeat(random.int(6000)),
    signedRequest(draw).token,
    Buffer.from(random.bytes(32)).toString("base64url"),
    `rco_${Buffer.from(random.bytes(32)).toString("base64url")}`,
  ]);
  return random.pick<Record<string, string | string[]>>([
    {},
    { authorization: `Bearer ${guess}` },
    { authorization: `Basic ${encoded(`admin:${guess}`)}` },
    { authorization: [`Bearer ${guess}`, "Bearer b"] },
    { authorization: `Bearer  ${guess}, Bearer ${guess}` },
    { "cf-access-jwt-assertion": assertion(draw) },
    { "cf-access-jwt-assertion": assertion(draw), authorization: `Bearer ${guess}` },
    {
      "cf-access-authenticated-user-email": "admin@example.com",
      cookie: `CF_Authorization=${assertion(draw)}`,
    },
    {
      cookie: `__Host-rollcall=${random.pick(["", guess, `1.${"A".repeat(22)}.9999999999999.${"A".repeat(43)}`])}`,
      "sec-fetch-site": "same-origin",
    },
    { "x-forwarded-user": "admin", "x-http-method-override": "GET", "x-original-url": "/livez" },
    { origin: "https://evil.test", "access-control-request-method": "POST" },
  ]);
}

export const routeKinds: Record<string, Kind> = {
  "operators' API": (draw) => {
    const { random } = draw;
    const [method, path] = random.pick(OPERATOR_ROUTES);
    const bodies = [
      "",
      "{}",
      '{"names":"*","expiresInSeconds":60,"uses":9}',
      '{"name":"thief","role":"admin","expiresInSeconds":60}',
      '{"secret":"guessed"}',
      '{"code":"AAAAAAAAAAAAAAAAAAAAAA"}',
      '{"action":"forget","names":["live-1"],"dryRun":true}',
      `{"thumbprint":"${"A".repeat(43)}"}`,
    ];
    const body = method === "POST" ? random.pick(bodies) : "";
    return { method, path, headers: credentials(draw), body };
  },
  "unknown paths": (draw) => {
    const { random } = draw;
    const path = random.pick([
      "/nodes",
      "/v1",
      "/v2/nodes/live-1/report",
      "/v1/nodes",
      "/v1/nodes/live-1/",
      "/v1/nodes/live-1/reports",
      "/v1/nodes/live-1/report/x",
      "//v1/nodes/live-1/report",
      "/v1//nodes/live-1/report",
      "/V1/nodes/live-1/report",
      "/.env",
      "/measured",
      "/cdn-cgi/access/certs",
      "/favicon.ico",
      `/${"a/".repeat(random.int(2000))}`,
      `/${Buffer.from(random.bytes(random.int(60)))
        .toString("hex")
        .replaceAll("0", "%")}`,
      `/v1/tokens/${"%41".repeat(random.int(200))}`,
      `/v1/audit?${"a=b&".repeat(random.int(500))}`,
    ]);
    const { method, headers, body } = anyRequest(draw);
    return {
      method: random.chance(0.5) ? method : "GET",
      path,
      headers,
      body: random.chance(0.5) ? body : "",
    };
  },
  "paths written otherwise": (draw) => {
    const request = anyRequest(draw);
    const path = draw.random.pick([
      `${request.path}/`,
      `${request.path}?x=${draw.random.int(10)}`,
      `${request.path}%20`,
      request.path.replace("nodes", "n%6fdes"),
      request.path.replace("nodes", "NODES"),
      request.path.replace("/nodes", "//nodes"),
      request.path.replace("/nodes", "/x/../nodes"),
      request.path.replace("/nodes", "/./nodes"),
      request.path.replaceAll("/", "\\"),
      `${request.path};a=b`,
      `${request.path}%2f..%2freport`,
    ]);
    return { ...request, path };
  },
  "other methods": (draw) => {
    const request = anyRequest(draw);
    return { ...request, method: draw.random.pick(METHODS) };
  },
  "odd names": (draw) => {
    const { random } = draw;
    const request = anyRequest(draw);
    const name = random.pick(ODD_NAMES);
    // Node's client sends a path as Latin-1, so an odd name must have only characters of Latin-1.
    return { ...request, path: request.path.replace(/(?<=nodes\/)[^/]+/, name) };
  },
  "names nobody has": (draw) => {
    const request = anyRequest(draw);
    return { ...request, path: request.path.replace(/(?<=nodes\/)[^/]+/, `nobody-${draw.random.int(1e6)}`) };
  },
  "odd headers": (draw): Attack => {
    const { random } = draw;
    const request = signedRequest(draw);
    const { token } = request;
    const headers = random.pick<Record<string, string | string[]>>([
      { authorization: token },
      { authorization: `bearer\t${token}` },
      { authorization: `Bearer ${token} ${token}` },
      { authorization: [`Bearer ${token}`, `Bearer ${token}`] },
      { authorization: `Bearer ${"x".repeat(random.int(8000))}` },
      { authorization: `DPoP ${token}` },
      { cookie: `authorization=Bearer ${token}` },
      { "proxy-authorization": `Bearer ${token}` },
      {
        "x-authorization": `Bearer ${token}`,
        "x-forwarded-host": "evil.test",
        "x-forwarded-for": "127.0.0.1",
      },
      { authorization: "Bearer", "content-type": "multipart/form-data; boundary=x" },
    ]);
    return { ...request, headers };
  },
};
