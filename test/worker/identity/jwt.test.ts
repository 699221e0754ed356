// Tests the claims that a JWT must have, one by one, and which keys can sign.
import { base64url, type CryptoKey, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { JWT_TYPES } from "../../../shared/protocol/claims.ts";
import { LIMITS } from "../../../shared/protocol/limits.ts";
import {
  claimedEnrolment,
  claimedKid,
  FOR_ANOTHER_ORIGIN,
  importPublicKey,
  verifyBinding,
  verifyConnect,
  verifyNextKey,
  verifyProof,
  verifyRequest,
} from "../../../worker/identity/jwt.ts";
import { makeMachineKey, type MachineKey } from "../../../node-shim/identity/identity.ts";

const ORIGINS = ["https://rollcall.test", "https://other.test"];
const machine = await makeMachineKey();
const other = await makeMachineKey();

const sign = (claims: object, header: object, key: CryptoKey = machine.signing) =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: "EdDSA", ...header }).sign(key);

describe("a request", () => {
  const CLAIMS = { sub: "edge-1", aud: ORIGINS[0], body: "digest", ticket: "t", n: 1 };
  const verifiedOf = async (
    claims: object,
    { typ = JWT_TYPES.report, by = machine }: { typ?: string; by?: MachineKey } = {},
  ) =>
    verifyRequest(await sign(claims, { typ }, by.signing), await importPublicKey(machine.publicJwk.x), {
      action: "report",
      name: "edge-1",
      bodyDigest: "digest",
      origins: ORIGINS,
    });

  it.each([
    ["as it has to be", {}, true],
    ["by the other origin", { aud: ORIGINS[1] }, true],
    ["for another name", { sub: "edge-2" }, false],
    ["of another body", { body: "other" }, false],
    ["for an origin that is none of ours", { aud: "https://evil.test" }, false],
    ["for several origins", { aud: ORIGINS }, false],
    ["for one origin, in a list", { aud: [ORIGINS[0]] }, false],
    ["without a ticket", { ticket: undefined }, false],
    ["with a ticket that is a number", { ticket: 1 }, false],
    ["with an empty ticket", { ticket: "" }, true],
    ["with the count 0", { n: 0 }, false],
    ["with half a count", { n: 1.5 }, false],
    ["with a count that is a text", { n: "1" }, false],
    ["with the last count", { n: Number.MAX_SAFE_INTEGER }, true],
    ["with a count after the last", { n: Number.MAX_SAFE_INTEGER + 1 }, false],
  ])("%s ", async (_, more, accepted) => {
    expect((await verifiedOf({ ...CLAIMS, ...more })).ok).toBe(accepted);
  });

  it.each([
    ["an origin that is none of ours", "https://evil.test", true],
    ["several of them", ["https://evil.test"], false],
    ["none", undefined, false],
  ])("by the machine's key, for %s → signed for another origin: %s", async (_, aud, isSaid) => {
    const said = await verifiedOf({ ...CLAIMS, aud });
    expect(!said.ok && said.error === FOR_ANOTHER_ORIGIN).toBe(isSaid);
  });

  it("by another key or of another type, for another origin → the answer does not mention the origin", async () => {
    const claims = { ...CLAIMS, aud: "https://evil.test" };
    for (const by of [{ by: other }, { typ: JWT_TYPES.leave }])
      expect(await verifiedOf(claims, by)).not.toEqual({ ok: false, error: FOR_ANOTHER_ORIGIN });
  });

  it("by another key, or of another type → not accepted", async () => {
    expect((await verifiedOf(CLAIMS, { by: other })).ok).toBe(false);
    expect((await verifiedOf(CLAIMS, { typ: JWT_TYPES.leave })).ok).toBe(false);
  });
});

describe("a kid", () => {
  it.each([
    ["a text", { kid: "a.b" }, "a.b"],
    ["none", {}, undefined],
    ["a number", { kid: 7 }, undefined],
  ])("%s", async (_, header, kid) => {
    expect(claimedKid(await sign({}, header))).toBe(kid);
  });

  it("of a text that is no JWT → null", () => {
    expect(claimedKid("none")).toBeUndefined();
  });
});

const ENROLMENT = {
  name: "edge-1",
  method: "PUT",
  path: "/v1/nodes/edge-1/enrolment",
  origins: ORIGINS,
  challenge: "c",
};
const VOUCHED = {
  sub: ENROLMENT.name,
  aud: ORIGINS[0],
  method: ENROLMENT.method,
  path: ENROLMENT.path,
  jkt: machine.thumbprint,
};
/** Changes to the claims that each JWT about a key must have. Each row changes one claim to an invalid value. */
const OTHERS: [string, object][] = [
  ["another name", { sub: "edge-2" }],
  ["another method", { method: "POST" }],
  ["another path", { path: "/v1/nodes/edge-2/enrolment" }],
  ["another key", { jkt: other.thumbprint }],
  ["another origin", { aud: "https://evil.test" }],
];

describe("a proof of the machine's key", () => {
  const PROOF = { ...VOUCHED, challenge: "c", machineID: "m-1", systemUUID: "s-1" };
  const proven = async (claims: object, { typ = JWT_TYPES.enrol }: { typ?: string } = {}) =>
    verifyProof(await sign(claims, { typ, jwk: machine.publicJwk }), ENROLMENT);

  it("valid → its key, its thumbprint and its claims", async () => {
    const { x: key } = machine.publicJwk;
    const value = { key, thumbprint: machine.thumbprint, machineID: "m-1", systemUUID: "s-1" };
    expect(await proven(PROOF)).toEqual({ ok: true, value });
  });

  it.each([
    ...OTHERS,
    ["another challenge", { challenge: "d" }],
    ["no machine ID", { machineID: undefined }],
    ["no system UUID", { systemUUID: undefined }],
    ["a machine ID that is a number", { machineID: 1 }],
    ["a system UUID that is a number", { systemUUID: 1 }],
  ])("with %s → none", async (_, more) => {
    expect((await proven({ ...PROOF, ...more })).ok).toBe(false);
  });

  it("of another type → null", async () => {
    expect((await proven(PROOF, { typ: JWT_TYPES.join })).ok).toBe(false);
  });

  it.each([
    ["at the limit", LIMITS.idLength, LIMITS.idLength],
    ["just over it", LIMITS.idLength + 1, LIMITS.idLength],
  ])("with IDs %s → as much of them as is shown", async (_, length, shown) => {
    const outcome = await proven({ ...PROOF, machineID: "m".repeat(length), systemUUID: "s".repeat(length) });
    const value = { machineID: "m".repeat(shown), systemUUID: "s".repeat(shown) };
    expect(outcome).toMatchObject({ ok: true, value });
  });

  const { x } = machine.publicJwk;
  const long = base64url.encode(new Uint8Array(33));
  const KEYS: [string, object | undefined][] = [
    ["none", undefined],
    ["another type of key", { kty: "EC", crv: "Ed25519", x }],
    ["another curve", { kty: "OKP", crv: "X25519", x }],
    ["no x", { kty: "OKP", crv: "Ed25519" }],
    ["a number for x", { kty: "OKP", crv: "Ed25519", x: 7 }],
    ["33 bytes", { kty: "OKP", crv: "Ed25519", x: long }],
    ["its x in another spelling", { kty: "OKP", crv: "Ed25519", x: `${x}=` }],
    ["no base64url", { kty: "OKP", crv: "Ed25519", x: "?" }],
  ];

  it.each(KEYS)("with this key in its header: %s → null", async (_, jwk) => {
    const jwt = await sign(PROOF, { typ: JWT_TYPES.enrol, ...(jwk && { jwk }) });
    expect(await verifyProof(jwt, ENROLMENT)).toEqual({ ok: false, error: "no Ed25519 key in its header" });
    expect(await claimedEnrolment(jwt)).toBeNull();
  });

  it.each([
    ["a challenge", "c", "c"],
    ["none", undefined, undefined],
    ["a number for one", 7, ""],
  ])("with %s → what it claims, unverified", async (_, challenge, claimed) => {
    const jwt = await sign({ ...PROOF, challenge }, { typ: JWT_TYPES.enrol, jwk: machine.publicJwk });
    expect(await claimedEnrolment(jwt)).toEqual({
      thumbprint: machine.thumbprint,
      challenge: claimed,
      origin: ORIGINS[0],
    });
  });

  it.each([
    ["another origin", "https://evil.test", "https://evil.test"],
    ["several", ORIGINS, undefined],
    ["none", undefined, undefined],
  ])("for %s → what it claims, unverified", async (_, aud, origin) => {
    const jwt = await sign({ ...PROOF, aud }, { typ: JWT_TYPES.enrol, jwk: machine.publicJwk });
    expect(await claimedEnrolment(jwt)).toMatchObject({ origin });
  });

  it("with unreadable claims → no claims", async () => {
    const [header] = (await sign({}, { jwk: machine.publicJwk })).split(".");
    expect(await claimedEnrolment(`${header}.?.x`)).toBeNull();
  });
});

describe("a proof of a next key", () => {
  const PROOF = { ...VOUCHED, previous: other.thumbprint };
  const followed = async (
    claims: object,
    { previous = other.thumbprint, typ = JWT_TYPES.nextKey }: { previous?: string; typ?: string } = {},
  ) => verifyNextKey(await sign(claims, { typ, jwk: machine.publicJwk }), { ...ENROLMENT, previous });

  it("valid → the key", async () => {
    const value = { key: machine.publicJwk.x, thumbprint: machine.thumbprint };
    expect(await followed(PROOF)).toEqual({ ok: true, value });
  });

  it.each([...OTHERS, ["another key before it", { previous: "x" }]])("with %s → none", async (_, more) => {
    expect((await followed({ ...PROOF, ...more })).ok).toBe(false);
  });

  it("that follows itself, is of another type, or has no key → null", async () => {
    const { thumbprint: previous } = machine;
    expect((await followed({ ...PROOF, previous }, { previous })).ok).toBe(false);
    expect((await followed(PROOF, { typ: JWT_TYPES.enrol })).ok).toBe(false);
    const keyless = await sign(PROOF, { typ: JWT_TYPES.nextKey });
    expect((await verifyNextKey(keyless, { ...ENROLMENT, previous: other.thumbprint })).ok).toBe(false);
  });
});

describe("a join token", () => {
  const BINDING = { ...VOUCHED, challenge: "c" };
  const binds = async (
    claims: object,
    { by = other, typ = JWT_TYPES.join }: { by?: MachineKey; typ?: string } = {},
  ) =>
    verifyBinding(await sign(claims, { typ }, by.signing), other.publicJwk.x, ENROLMENT, machine.thumbprint);

  it("lets this key enrol", async () => {
    expect(await binds(BINDING)).toBe(true);
  });

  it.each([...OTHERS, ["another challenge", { challenge: "d" }]])(
    "does not vouch for %s",
    async (_, more) => {
      expect(await binds({ ...BINDING, ...more })).toBe(false);
    },
  );

  it("does not vouch for another signing key, or for another purpose", async () => {
    expect(await binds(BINDING, { by: machine })).toBe(false);
    expect(await binds(BINDING, { typ: JWT_TYPES.enrol })).toBe(false);
  });
});

interface Connecting {
  typ?: string;
  by?: MachineKey;
  /** The key in the JWT's header; null if the header has none. */
  jwk?: object | null;
}

describe("a request for a socket", () => {
  const PATH = "/v1/gateways/7/nodes/edge-1";
  const session = base64url.encode(new Uint8Array(32).fill(9));
  const CLAIMS = { sub: "edge-1", aud: ORIGINS[0], method: "GET", path: PATH, session };
  const connecting = async (
    claims: object,
    { typ = JWT_TYPES.connect, by = machine, jwk = machine.publicJwk }: Connecting = {},
  ) =>
    verifyConnect(await sign(claims, { typ, kid: "k", ...(jwk && { jwk }) }, by.signing), {
      thumbprint: machine.thumbprint,
      name: "edge-1",
      path: PATH,
      origins: ORIGINS,
    });

  it("valid, for either origin → its claims", async () => {
    for (const aud of ORIGINS)
      expect(await connecting({ ...CLAIMS, aud })).toEqual({ ok: true, value: { ...CLAIMS, aud } });
  });

  const encoded = (bytes: number) => base64url.encode(new Uint8Array(bytes));
  it.each<[situation: string, claims: object]>([
    ["another name", { sub: "edge-2" }],
    ["no name", { sub: undefined }],
    ["another method", { method: "POST" }],
    ["no method", { method: undefined }],
    ["another gateway's path", { path: "/v1/gateways/8/nodes/edge-1" }],
    ["a path with its query", { path: `${PATH}?t=x` }],
    ["no path", { path: undefined }],
    ["several origins", { aud: ORIGINS }],
    ["one origin, in a list", { aud: [ORIGINS[0]] }],
    ["no origin", { aud: undefined }],
    ["no session", { session: undefined }],
    ["a session that is a number", { session: 7 }],
    ["a session of 31 bytes", { session: encoded(31) }],
    ["a session of 33 bytes", { session: encoded(33) }],
    ["a session in another spelling", { session: `${session}=` }],
    ["a session that is no base64url", { session: "?" }],
  ])("with %s → not accepted", async (_, more) => {
    const outcome = await connecting({ ...CLAIMS, ...more });
    expect(outcome.ok).toBe(false);
    expect(outcome).not.toEqual({ ok: false, error: FOR_ANOTHER_ORIGIN });
  });

  it("by the machine's key, for an unknown origin → that reason", async () => {
    const outcome = await connecting({ ...CLAIMS, aud: "https://evil.test" });
    expect(outcome).toEqual({ ok: false, error: FOR_ANOTHER_ORIGIN });
  });

  it.each<[situation: string, how: Connecting]>([
    ["by another key, with the machine's in its header", { by: other }],
    ["by another key, which is in its header", { by: other, jwk: other.publicJwk }],
    ["without a key in its header", { jwk: null }],
    ["with a key in another spelling", { jwk: { ...machine.publicJwk, x: `${machine.publicJwk.x}=` } }],
    ["of another type", { typ: JWT_TYPES.report }],
  ])("%s → not accepted, and nothing is said about the origin", async (_, how) => {
    for (const aud of [ORIGINS[0], "https://evil.test"]) {
      const outcome = await connecting({ ...CLAIMS, aud }, how);
      expect(outcome.ok).toBe(false);
      expect(outcome).not.toEqual({ ok: false, error: FOR_ANOTHER_ORIGIN });
    }
  });
});
