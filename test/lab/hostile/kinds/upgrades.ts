// Makes hostile upgrades to a socket: with another machine's ticket, number, name or JWT, or repeated. Some are changes
// of a withheld upgrade, which the Worker would accept.
import { JWT_TYPES } from "../../../../shared/protocol/claims.ts";
import { type Attack, type Draw, type Kind, signedRequest } from "../attack.ts";
import { digestOf, hmacOf, type Json, signedBy, takenApart, withSignature } from "../jwt.ts";
import type { Upgrade } from "../recorded.ts";
import { alteredText, publicKeys } from "./tokens.ts";

interface Parts extends Upgrade {
  gateway: string;
  name: string;
  ticket: string;
}

function anyUpgrade({ random, recording }: Draw): Parts {
  const { path, token } = random.pick(random.chance(0.7) ? recording.withheldUpgrades : recording.upgrades);
  const {
    gateway = "",
    name = "",
    ticket = "",
  } = /^\/v1\/gateways\/(?<gateway>[^/]+)\/nodes\/(?<name>[^?]+)\?t=(?<ticket>.*)$/.exec(path)?.groups ?? {};
  return { path, token, gateway, name, ticket };
}

const HANDSHAKE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};

function upgrading(
  { gateway, name, ticket, token }: Omit<Parts, "path">,
  more: { path?: string; headers?: Attack["headers"]; method?: string } = {},
): Attack {
  const { path = `/v1/gateways/${gateway}/nodes/${name}?t=${ticket}`, method = "GET" } = more;
  const headers = { ...HANDSHAKE, authorization: `Bearer ${token}`, ...more.headers };
  return { method, path, headers, body: "" };
}

/** Returns an altered upgrade, signed by the thief or with the original's signature. */
function forgedUpgrade({ random, thief }: Draw, token: string, header: Json, claims: Json): string {
  const jwt = takenApart(token);
  const whole = { header: { ...jwt.header, ...header }, claims: { ...jwt.claims, ...claims } };
  return random.chance(0.5)
    ? signedBy(thief, whole.header, whole.claims)
    : withSignature({ ...whole, signature: jwt.signature });
}

/** Returns the 32 bytes of a session key in other notations, and malformed keys. */
function otherSessions(session: string): unknown[] {
  return [
    null,
    "",
    7,
    [session],
    `${session}=`,
    session.slice(1),
    `${session}A`,
    "A".repeat(43),
    session.toLowerCase(),
  ];
}

const NUMBERS = [
  "0",
  "01",
  "1.0",
  "+1",
  "-1",
  "1e0",
  "0x1",
  "2",
  "7",
  "500",
  "999999999",
  "1000000000",
  "%31",
  "%30",
  "a",
];

export const upgradeKinds: Record<string, Kind> = {
  "altered ticket": (draw) => {
    const { random } = draw;
    const parts = anyUpgrade(draw);
    const [end = "", id = "", mac = ""] = parts.ticket.split(".");
    const later = (Number.parseInt(end, 36) + 1 + random.int(1e6)).toString(36);
    const ticket = random.pick([
      alteredText(parts.ticket, draw),
      `${later}.${id}.${mac}`,
      `${end.toUpperCase()}.${id}.${mac}`,
      `0${end}.${id}.${mac}`,
      `${end}.2.${mac}`,
      `${end}.${id}.`,
      `${end}.${id}.${mac}.${mac}`,
      `${end}.${id}.${digestOf(parts.name)}`,
      `zzzzzzzzzz.${id}.${mac}`,
      anyUpgrade(draw).ticket.replace(end, later),
      "",
    ]);
    return upgrading({ ...parts, ticket });
  },
  "odd queries of upgrades": (draw) => {
    const parts = anyUpgrade(draw);
    const path = `/v1/gateways/${parts.gateway}/nodes/${parts.name}`;
    const query = draw.random.pick([
      "",
      "?",
      `?T=${parts.ticket}`,
      `?t=${parts.ticket}&t=${parts.ticket}`,
      `?t=&t=${parts.ticket}`,
      `?t=${parts.ticket}&gateway=2`,
      `?ticket=${parts.ticket}`,
      `?t[]=${parts.ticket}`,
      `?t=${parts.ticket}%00`,
    ]);
    return upgrading(parts, { path: `${path}${query}` });
  },
  "another gateway's number": (draw) => {
    const parts = anyUpgrade(draw);
    return upgrading({ ...parts, gateway: draw.random.pick(NUMBERS) });
  },
  "another machine's upgrade": (draw) => {
    const [parts, other] = [anyUpgrade(draw), signedRequest(draw)];
    const name = draw.random.pick([other.name, `nobody-${draw.random.int(1e6)}`, parts.name.toUpperCase()]);
    const token = forgedUpgrade(
      draw,
      parts.token,
      {},
      { sub: name, path: `/v1/gateways/${parts.gateway}/nodes/${name}` },
    );
    return upgrading({ ...parts, name, token: draw.random.chance(0.5) ? token : parts.token });
  },
  "altered header of an upgrade": (draw) => {
    const { random, thief } = draw;
    const parts = anyUpgrade(draw);
    const [id = "", , nonce = "", mac = ""] = String(takenApart(parts.token).header["kid"]).split(".");
    const jwk = { kty: "OKP", crv: "Ed25519", x: thief.x };
    const header = random.pick<Json>([
      { jwk },
      { jwk, kid: `${id}.${thief.thumbprint}.${nonce}.${mac}` },
      { kid: alteredText(String(takenApart(parts.token).header["kid"]), draw) },
      { kid: random.pick<unknown>([null, "", 7, ["1"], signedRequest(draw).jwt.header["kid"]]), jwk },
      { jwk: random.pick<unknown>([null, {}, "x", { ...jwk, crv: "X25519" }, { kty: "oct", k: "" }]) },
      {
        typ: random.pick([
          ...Object.values(JWT_TYPES).filter((typ) => typ !== JWT_TYPES.connect),
          "JWT",
          "",
          null,
        ]),
      },
      { alg: random.pick(["none", "HS256", "ES256", "", null]) },
    ]);
    return upgrading({ ...parts, token: forgedUpgrade(draw, parts.token, header, {}) });
  },
  "altered claims of an upgrade": (draw) => {
    const { random } = draw;
    const parts = anyUpgrade(draw);
    const { session } = takenApart(parts.token).claims as { session: string };
    const claims = random.pick<Json>([
      { session: random.pick(otherSessions(session)) },
      {
        aud: random.pick<unknown>([
          "https://evil.test",
          "",
          null,
          [],
          ["https://rollcall.test"],
          "https://rollcall.test/",
        ]),
      },
      { sub: random.pick<unknown>([null, "", "live-1", [parts.name]]) },
      { method: random.pick<unknown>(["POST", "get", null, ["GET"]]) },
      { path: random.pick<unknown>([parts.path, "/", null, `/v1/gateways/2/nodes/${parts.name}`]) },
      { exp: 0, nbf: 1e12 },
    ]);
    return upgrading({ ...parts, token: forgedUpgrade(draw, parts.token, {}, claims) });
  },
  "upgrade by a key of the thief's": (draw) => {
    const { random, thief } = draw;
    const parts = anyUpgrade(draw);
    const { header, claims } = takenApart(parts.token);
    const { x } = header["jwk"] as { x: string };
    const token = random.pick([
      signedBy(thief, header, claims),
      signedBy(thief, { ...header, jwk: { kty: "OKP", crv: "Ed25519", x: thief.x } }, claims),
      hmacOf(random.pick(publicKeys({ x })), "sha256", { ...header, alg: "HS256" }, claims),
      withSignature({ header: { ...header, alg: "none" }, claims, signature: "" }),
      alteredText(parts.token, draw),
    ]);
    return upgrading({ ...parts, token });
  },
  "another request's JWT for an upgrade": (draw) => {
    const parts = anyUpgrade(draw);
    return upgrading({ ...parts, token: signedRequest(draw).token });
  },
  "an upgrade's JWT for another request": (draw) => {
    const { token, name } = anyUpgrade(draw);
    const request = signedRequest(draw);
    const path = `/v1/nodes/${name}/${draw.random.pick(["report", "leave", "rotate"])}`;
    return { ...request, path, headers: { ...request.headers, authorization: `Bearer ${token}` } };
  },
  "replayed upgrade": (draw) => {
    const { path, token } = draw.random.pick(draw.recording.upgrades);
    return { method: "GET", path, headers: { ...HANDSHAKE, authorization: `Bearer ${token}` }, body: "" };
  },
  "no upgrade": (draw) => {
    const { random } = draw;
    const parts = anyUpgrade(draw);
    const upgrade = random.pick(["h2c", "websocket, h2c", "web socket", "", "TLS/1.0"]);
    const method = random.chance(0.3) ? random.pick(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) : "GET";
    return upgrading(parts, { method, headers: { upgrade } });
  },
};
