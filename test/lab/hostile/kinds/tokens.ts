// Makes hostile JWTs: forged, altered, taken from other requests, or repeated.
import { JWT_TYPES } from "../../../../shared/protocol/claims.ts";
import {
  anyRequest,
  type Attack,
  bearing,
  type Draw,
  enrolling,
  enrolment,
  type Kind,
  nameOf,
  type Signed,
  signedRequest,
} from "../attack.ts";
import {
  challengeAt,
  digestOf,
  encoded,
  hmacOf,
  type Json,
  type SeededKey,
  signedBy,
  takenApart,
  thumbprintOf,
  withSignature,
} from "../jwt.ts";

const TYPES = Object.values(JWT_TYPES);
const ACTIONS = ["report", "leave", "rotate", "upgrade"];

/** Returns an altered JWT, signed by the thief or with the original's signature. */
function forged({ random, thief }: Draw, { jwt }: Signed, header: Json, claims: Json): string {
  const whole = { header: { ...jwt.header, ...header }, claims: { ...jwt.claims, ...claims } };
  return random.chance(0.5)
    ? signedBy(thief, whole.header, whole.claims)
    : withSignature({ ...whole, signature: jwt.signature });
}

/**
 * Returns the public key of a recorded enrolment in several encodings: an implementation that confuses keys would
 * use it as a secret.
 */
export function publicKeys({ x }: { x: string }): (string | Uint8Array)[] {
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), Buffer.from(x, "base64url")]);
  const pem = `-----BEGIN PUBLIC KEY-----\n${der.toString("base64")}\n-----END PUBLIC KEY-----\n`;
  return [x, Buffer.from(x, "base64url"), der, pem, JSON.stringify({ kty: "OKP", crv: "Ed25519", x }), ""];
}

const claimsOf = (draw: Draw, request: Signed, more: Json = {}): Json => ({
  sub: request.name,
  aud: request.jwt.claims["aud"],
  body: digestOf(request.body),
  ticket: draw.random.chance(0.5) ? request.jwt.claims["ticket"] : "",
  n: 1 + draw.random.int(2 ** 31),
  ...more,
});

export function alteredText(text: string, { random }: Draw): string {
  const at = random.int(text.length);
  const letter = "ABCDwxyz0189-_.=+/".charAt(random.int(18));
  return random.pick([
    text.slice(0, at) + letter + text.slice(at + 1),
    text.slice(0, at) + text.slice(at + 1),
    text.slice(0, at),
    `${text}${letter}`,
    text.toUpperCase(),
  ]);
}

/**
 * Returns a signature with S + L in place of S: it satisfies the same equation, but Ed25519 forbids it (RFC 8032,
 * 5.1.7).
 */
function malleated(signature: string): string {
  const order = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
  const bytes = Buffer.from(signature, "base64url");
  let s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString("hex")}`) + order;
  for (let at = 32; at < 64; at++, s >>= 8n) bytes[at] = Number(s & 0xffn);
  return bytes.toString("base64url");
}

/** Points of small order, whose signatures hold for any message, and a value that is no point. */
const WEAK_KEYS = [
  `01${"00".repeat(31)}`,
  "00".repeat(32),
  `ecff${"ff".repeat(29)}7f`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
].map((hex) => Buffer.from(hex, "hex").toString("base64url"));

function weakProof({ random }: Draw, name: string, jwt: { claims: Json }): string {
  const x = random.pick(WEAK_KEYS);
  const header = { alg: "EdDSA", typ: JWT_TYPES.enrol, jwk: { kty: "OKP", crv: "Ed25519", x } };
  const signature = Buffer.alloc(64);
  signature[0] = random.int(2);
  const jkt = thumbprintOf(x);
  const challenge = challengeAt(jwt.claims["challenge"], name, jkt);
  return withSignature({
    header,
    claims: { ...jwt.claims, sub: name, jkt, challenge },
    signature: signature.toString("base64url"),
  });
}

function ownProof(thief: SeededKey, claims: Json, header: Json = {}): string {
  const jwk = { kty: "OKP", crv: "Ed25519", x: thief.x };
  const challenge = challengeAt(claims["challenge"], claims["sub"], thief.thumbprint);
  return signedBy(
    thief,
    { alg: "EdDSA", typ: JWT_TYPES.enrol, jwk, ...header },
    { ...claims, jkt: thief.thumbprint, challenge },
  );
}

export const tokenKinds: Record<string, Kind> = {
  "alg none": (draw) => {
    const request = signedRequest(draw);
    const alg = draw.random.pick(["none", "None", "NONE", "", null, "nOnE"]);
    const header = { ...request.jwt.header, alg };
    const signature = draw.random.chance(0.5) ? "" : request.jwt.signature;
    return bearing(request, withSignature({ header, claims: claimsOf(draw, request), signature }));
  },
  "HS256 with the public key": (draw) => {
    const { random } = draw;
    const request = signedRequest(draw);
    const { header } = takenApart(enrolment(draw).proof);
    const [alg, hash] = random.pick([
      ["HS256", "sha256"],
      ["HS512", "sha512"],
      ["EdDSA", "sha512"],
      ["RS256", "sha256"],
    ] as const);
    const secret = random.pick(publicKeys(header["jwk"] as { x: string }));
    return bearing(request, hmacOf(secret, hash, { ...request.jwt.header, alg }, claimsOf(draw, request)));
  },
  "wrong kid": (draw) => {
    const { random, thief } = draw;
    const request = signedRequest(draw);
    const kid = String(request.jwt.header["kid"]);
    const [id = "", thumbprint = "", nonce = "", mac = ""] = kid.split(".");
    const wrong = random.pick<unknown>([
      alteredText(kid, draw),
      `${id}.${thief.thumbprint}.${nonce}.${mac}`,
      `${id}.${thumbprint}.${Buffer.from(random.bytes(16)).toString("base64url")}.${mac}`,
      `2.${thumbprint}.${nonce}.${mac}`,
      `${id}.${thumbprint}.${nonce}.${Buffer.from(random.bytes(32)).toString("base64url")}`,
      `${id}.${thumbprint}.${nonce}.`,
      `${kid}.${mac}`,
      [kid],
      { toString: kid },
      null,
      7,
      "a".repeat(random.int(8192)),
    ]);
    return bearing(request, forged(draw, request, { kid: wrong }, claimsOf(draw, request)));
  },
  "another node's": (draw) => {
    const [request, other] = [signedRequest(draw), signedRequest(draw)];
    const path = draw.random.chance(0.5) ? request.path : request.path.replace(request.name, other.name);
    const token = draw.random.chance(0.5)
      ? other.token
      : forged(draw, request, { kid: other.jwt.header["kid"] }, { sub: other.name });
    return { ...bearing(request, token), path };
  },
  "the thief's key": (draw) => {
    const request = signedRequest(draw);
    const { x } = draw.thief;
    const header = {
      ...request.jwt.header,
      ...(draw.random.chance(0.5) && { jwk: { kty: "OKP", crv: "Ed25519", x } }),
    };
    return bearing(request, signedBy(draw.thief, header, claimsOf(draw, request)));
  },
  "another action's": (draw) => {
    const { random } = draw;
    const request = signedRequest(draw);
    const path = request.path.replace(/\w+$/, random.pick(ACTIONS));
    const body = random.chance(0.7) ? request.body : random.pick(["{}", anyRequest(draw).body]);
    const token = random.chance(0.7) ? request.token : forged(draw, request, { typ: random.pick(TYPES) }, {});
    return { ...bearing(request, token), path, body };
  },
  "altered header": (draw) => {
    const { random } = draw;
    const request = signedRequest(draw);
    const header = random.pick<Json>([
      { typ: random.pick([...TYPES, "JWT", "", null, 7]) },
      { alg: random.pick(["Ed25519", "ES256", "PS256", "RS256", "EdDSA ", ["EdDSA"], 0]) },
      { crit: random.pick([["exp"], ["b64"], [], "x"]), b64: false, exp: 1 },
      { jwk: { kty: "OKP", crv: "Ed25519", x: draw.thief.x } },
      { jku: "http://127.0.0.1:1/keys", x5u: "http://127.0.0.1:1/x5u" },
      { zip: "DEF", cty: "JWT", b64: false },
      { ["__proto__"]: { alg: "none" }, constructor: "none" },
    ]);
    return bearing(request, forged(draw, request, header, {}));
  },
  "another audience": (draw) => {
    const request = signedRequest(draw);
    const aud = draw.random.pick<unknown>([
      "https://evil.test",
      "",
      null,
      [],
      ["https://rollcall.test", "https://evil.test"],
      "https://ROLLCALL.test",
      "https://rollcall.test/",
      { 0: "https://rollcall.test" },
    ]);
    return bearing(request, forged(draw, request, {}, { aud }));
  },
  "altered claims": (draw) => {
    const { random } = draw;
    const request = signedRequest(draw);
    const claims = random.pick<Json>([
      { body: digestOf("else") },
      { body: random.pick<unknown>([null, "", [], request.jwt.claims["body"]]), exp: 1e18 },
      { n: random.pick<unknown>([1e308, -1, 0, 2 ** 53, "1", null, [1], 1.5]) },
      { n: Number(request.jwt.claims["n"]) + 1 },
      { ticket: random.pick<unknown>([null, 7, "", [], "A".repeat(22), "x".repeat(4096)]) },
      { sub: random.pick<unknown>([null, "", "live-1", "LIVE-1", ["live-1"]]) },
      { exp: 0, nbf: 1e12, iat: "x" },
      { ["__proto__"]: { sub: "live-1" }, constructor: 1 },
    ]);
    return bearing(request, forged(draw, request, {}, claims));
  },
  "foreign ticket": (draw) => {
    const [request, other] = [signedRequest(draw), signedRequest(draw)];
    const { ticket } = other.jwt.claims;
    return bearing(request, forged(draw, request, {}, { ticket, n: 1 + draw.random.int(10) }));
  },
  "exchanged bodies": (draw) => {
    const [request, other] = [signedRequest(draw), anyRequest(draw)];
    return { ...request, body: other.body };
  },
  "altered text": (draw) => {
    const request = signedRequest(draw);
    return bearing(request, alteredText(request.token, draw));
  },
  "altered signature": (draw) => {
    const { random } = draw;
    const request = signedRequest(draw);
    const { signature } = request.jwt;
    const other = random.pick([
      malleated(signature),
      `${signature}=`,
      `${signature}==`,
      signature.slice(0, -1) + random.pick(["A", "B", "Q", "g", "w", "h"]),
      Buffer.alloc(64).toString("base64url"),
      Buffer.from(random.bytes(64)).toString("base64url"),
      `${signature}${signature}`,
      Buffer.concat([Buffer.alloc(32, 1), Buffer.from(signature, "base64url").subarray(32)]).toString(
        "base64url",
      ),
    ]);
    return bearing(request, request.token.replace(signature, other));
  },
  "no compact JWT": (draw) => {
    const { random } = draw;
    const request = signedRequest(draw);
    const [header = "", claims = "", signature = ""] = request.token.split(".");
    const token = random.pick([
      `${header}.${claims}`,
      `${header}.${claims}.${signature}.`,
      `${header}.${claims}.${signature}.${header}.${claims}`,
      `..${signature}`,
      `${header}..${signature}`,
      `${encoded("null")}.${claims}.${signature}`,
      `${encoded("[".repeat(5000))}.${claims}.${signature}`,
      `${encoded(`{"kid":"${"k".repeat(20_000)}"}`)}.${claims}.${signature}`,
      `${header}.${encoded('{"n":1e999}')}.${signature}`,
      ".",
      "-",
    ]);
    return bearing(request, token);
  },
  replay: anyRequest,
  "out of order": (draw) => {
    const [request, later] = [signedRequest(draw), signedRequest(draw)];
    const path = request.path.replace(request.name, nameOf(later));
    return draw.random.chance(0.5) ? { ...later, body: request.body } : { ...request, path };
  },
  "enrolment, put together": (draw) => {
    const { random, thief } = draw;
    const [one, other] = [enrolment(draw), enrolment(draw)];
    const { claims } = takenApart(one.proof);
    const join = takenApart(one.binding);
    const fresh = `fresh-${random.int(1e6)}`;
    const ours = ownProof(thief, claims);
    const path = random.chance(0.3) ? one.path.replace(one.name, random.pick([fresh, other.name])) : one.path;
    const at = (proof: string, binding: string): Attack =>
      enrolling({ ...one, path }, { protocol: 1, proof, binding });
    const own = { ...claims, sub: fresh, path: `/v1/nodes/${fresh}/enrolment` };
    return random.pick<() => Attack>([
      () => at(one.proof, other.binding),
      () => at(one.binding, one.proof),
      () => at(ours, one.binding),
      () => at(ours, signedBy(thief, join.header, { ...join.claims, jkt: thief.thumbprint })),
      () =>
        at(
          ours,
          signedBy(
            thief,
            { ...join.header, kid: thief.thumbprint },
            { ...join.claims, jkt: thief.thumbprint },
          ),
        ),
      () => at(ours, withSignature({ ...join, claims: { ...join.claims, jkt: thief.thumbprint } })),
      () =>
        at(
          ours,
          withSignature({ header: { ...join.header, alg: "none" }, claims: join.claims, signature: "" }),
        ),
      () => at(weakProof(draw, one.name, { claims }), one.binding),
      () => at(ownProof(thief, claims, { jwk: takenApart(one.proof).header["jwk"] }), one.binding),
      () => at(alteredText(one.proof, draw), one.binding),
      () => at(one.proof, alteredText(one.binding, draw)),
      () => at(one.proof, ""),
      () => at(ownProof(thief, own), signedBy(thief, join.header, { ...own, jkt: thief.thumbprint })),
    ])();
  },
  "rotation, put together": (draw) => {
    const { thief, random } = draw;
    const request = signedRequest(draw);
    const path = request.path.replace(/\w+$/, "rotate");
    const previous = String(request.jwt.header["kid"]).split(".")[1];
    const jwk = { kty: "OKP", crv: "Ed25519", x: thief.x };
    const vouched = { sub: request.name, aud: request.jwt.claims["aud"], method: "POST", path };
    const claims = { ...vouched, jkt: thief.thumbprint, previous };
    const proof = signedBy(thief, { alg: "EdDSA", typ: JWT_TYPES.nextKey, jwk }, claims);
    const body = JSON.stringify({ protocol: 1, proof });
    const token = random.chance(0.5)
      ? request.token
      : forged(draw, request, { typ: JWT_TYPES.rotate }, { body: digestOf(body) });
    return { ...bearing(request, token), path, body };
  },
};
