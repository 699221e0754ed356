// Tests single defences: those that another defence covers as well, and those whose effect no answer shows.
import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Hono } from "hono";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { sha256Base64url, signEnrolment, signReport } from "../../node-shim/worker-link/sign.ts";
import { makeMachineKey, type MachineKey } from "../../node-shim/identity/identity.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { JWT_TYPES } from "../../shared/protocol/claims.ts";
import type { Problem } from "../../shared/protocol/answers.ts";
import { registry } from "../../worker/env.ts";
import { verifyBinding, verifyNextKey, verifyProof } from "../../worker/identity/jwt.ts";
import { issueKid } from "../../worker/identity/issued.ts";
import { parseMacKeys } from "../../worker/identity/mac-keys.ts";
import { administrationRoutes } from "../../worker/http/administration-routes.ts";
import { nodeRoutes } from "../../worker/http/node-routes.ts";
import type { App } from "../../worker/http/responses.ts";
import { newIsolate } from "../../worker/isolate.ts";
import { offerTicket, type Tickets, useTicket } from "../../worker/machine/fresh-requests.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import { enrolmentPath, toSign } from "../worker/support/enrolling.ts";
import {
  type EnrolledMachine,
  enrolled,
  facts,
  HEALTHY,
  mintToken,
  send,
  shimOf,
} from "../worker/support/machine.ts";
import { shift } from "../worker/support/clock.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const reportBody = (name: string) => {
  const factsDigest = sha256Base64url(canonicalJson(facts(name)));
  const report = {
    protocol: 1,
    startId: "s",
    machineTime: "2026-01-02T03:04:05Z",
    vitals: HEALTHY,
    factsDigest,
  };
  return JSON.stringify({ ...report, facts: facts(name) });
};

/** Sends a report that the machine signed, but with this kid or ticket, and returns the answer. */
async function posted({ name, key, kid, ticket }: EnrolledMachine, path = `/v1/nodes/${name}/report`) {
  const body = reportBody(name);
  const claims = { sub: name, aud: ORIGIN, body: sha256Base64url(body), ticket, n: 1 };
  const headers = { authorization: `Bearer ${await signReport(key, kid, claims)}` };
  const response = await send(path, { method: "POST", headers, body });
  return { status: response.status, body: await response.json<Problem>() };
}

describe("a kid", () => {
  it("a kid that this Worker issued for another name, or did not issue → 401, and no object is created", async () => {
    const machine = await enrolled("kid-of-one");
    const before = (await listDurableObjectIds(env.NODES)).length;
    const [id, thumbprint, enrolment] = machine.kid.split(".");
    const forged = `${id}.${thumbprint}.${enrolment}.${"A".repeat(43)}`;
    for (const kid of [machine.kid, forged]) {
      const answer = await posted({ ...machine, kid }, "/v1/nodes/kid-of-nobody/report");
      expect(answer.status).toBe(401);
    }
    expect(await listDurableObjectIds(env.NODES)).toHaveLength(before);
  });

  it("a kid of another enrolment of the same key → 401", async () => {
    const machine = await enrolled("kid-of-before");
    const macKey = parseMacKeys(env.KID_MAC_KEYS)[0]!;
    const kid = await issueKid(macKey, machine.name, machine.key.thumbprint, "another");
    expect(await posted({ ...machine, kid })).toMatchObject({ status: 401 });
    expect(await posted(machine)).toMatchObject({ status: 200 });
  });
});

it("a report signed with another algorithm of the same key → 401", async () => {
  const { name, key, kid, ticket } = await enrolled("algorithm-other");
  const body = reportBody(name);
  const claims = { sub: name, aud: ORIGIN, body: sha256Base64url(body), ticket, n: 1 };
  const header = { alg: "Ed25519", typ: JWT_TYPES.report, kid };
  const jwt = await new SignJWT(claims).setProtectedHeader(header).sign(key.signing);
  const headers = { authorization: `Bearer ${jwt}` };
  const response = await send(`/v1/nodes/${name}/report`, { method: "POST", headers, body });
  expect(response.status).toBe(401);
});

it.each([
  ["just as long as a lease lasts", 200, 40_000],
  ["longer than a lease lasts", 409, 40_001],
])("a report that was withheld for %s → %i", async (situation, status, forMs) => {
  const machine = await enrolled(`withheld-${situation.replaceAll(" ", "-")}`);
  shift(forMs);
  expect((await posted(machine)).status).toBe(status);
});

it("the ticket before the one just used → stale, also during that request", () => {
  const tickets: Tickets<string> = {};
  const use = (ticket: string, n: number) => useTicket(tickets, { ticket, n, body: "b" }, 0, 1000).kind;
  const offer = (nonce: string) => offerTicket(tickets, 0, 1000, () => nonce);
  offer("one");
  expect(use("one", 1)).toBe("fresh");
  offer("two");
  expect([use("one", 2), use("two", 1), use("one", 3)]).toEqual(["fresh", "fresh", "stale"]);
});

it("a machine's object that missed its revocation → gets it with the first report", async () => {
  const machine = await enrolled("revocation-missed");
  await registry(env).unpin(machine.name, "machine.revoke", "a test");
  expect(await shimOf(machine)(facts(machine.name), HEALTHY)).toMatchObject({
    error: { problem: { status: 403 } },
  });
});

it("a client without a token learns nothing of a name: equal answers for a pinned and a free one", async () => {
  await enrolled("told-pinned");
  const answers = [];
  const [key, joinToken] = [await makeMachineKey(), await mintToken({ names: "told-*" })];
  for (const name of ["told-pinned", "told-free"]) {
    const request = await toSign(name, key);
    const { proof } = await signEnrolment(key, joinToken, request);
    // The join token has signed another name's enrolment, which an attacker may have recorded.
    const { binding } = await signEnrolment(key, joinToken, { ...request, name: "told-else" });
    const body = JSON.stringify({ protocol: 1, proof, binding });
    const response = await send(enrolmentPath(name), { method: "PUT", body });
    answers.push([response.status, await response.json()]);
  }
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]).toMatchObject([401, { reason: "token-refused" }]);
});

describe("a signed enrolment or rotation with another claim", () => {
  const NAME = "signed-claims";
  const challenge = "the Worker's";
  const path = enrolmentPath(NAME);
  const request = { name: NAME, method: "PUT", path, origins: [ORIGIN], challenge };
  const claimsOf = ({ thumbprint }: MachineKey) => ({
    sub: NAME,
    aud: ORIGIN,
    method: "PUT",
    path,
    jkt: thumbprint,
    challenge,
    machineID: "m",
    systemUUID: "s",
    previous: "before",
  });

  /** Signs a JWT of each kind with these claims. Returns the kinds that are accepted. */
  async function taken(another: object): Promise<string[]> {
    const key = await makeMachineKey();
    const sign = (typ: string) =>
      new SignJWT({ ...claimsOf(key), ...another })
        .setProtectedHeader({ alg: "EdDSA", typ, jwk: key.publicJwk })
        .sign(key.signing);
    const binding = await sign(JWT_TYPES.join);
    const { x } = key.publicJwk;
    const found = {
      proof: (await verifyProof(await sign(JWT_TYPES.enrol), request)).ok,
      binding: await verifyBinding(binding, x, request, key.thumbprint),
      next: (await verifyNextKey(await sign(JWT_TYPES.nextKey), { ...request, previous: "before" })).ok,
    };
    return Object.entries(found).flatMap(([what, is]) => (is ? [what] : []));
  }

  it("no other claim → all are accepted", async () => {
    expect(await taken({})).toEqual(["proof", "binding", "next"]);
  });

  it.each([
    ["sub", "another"],
    ["aud", "https://evil.test"],
    ["method", "POST"],
    ["path", "/v1/nodes/another/enrolment"],
    ["jkt", "A".repeat(43)],
  ])("another %s → none", async (claim, value) => {
    expect(await taken({ [claim]: value })).toEqual([]);
  });

  it("another challenge, or none → no enrolment", async () => {
    for (const another of ["another", undefined, ["the Worker's"]])
      expect(await taken({ challenge: another })).toEqual(["next"]);
  });

  it("another previous key → no next key", async () => {
    expect(await taken({ previous: "else" })).toEqual(["proof", "binding"]);
  });
});

it("a viewer from Cloudflare Access may read, and change nothing", async () => {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "k", alg: "RS256" };
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => Response.json({ keys: [jwk] }));
  const claims = { iss: "https://viewers.cloudflareaccess.com", aud: "app", email: "bob@example.com" };
  const assertion = await new SignJWT(claims)
    .setProtectedHeader({ alg: "RS256", kid: "k" })
    .setExpirationTime("1h")
    .sign(privateKey);
  const access = { ...env, ACCESS_TEAM: "viewers", ACCESS_AUD: "app", ACCESS_ADMINS: "alice@example.com" };
  const app = new Hono<App>()
    .use((c, next) => {
      c.set("isolate", newIsolate(fetch));
      return next();
    })
    .route("/", administrationRoutes)
    .route("/", nodeRoutes);
  const ask = (method: string, path: string) => {
    const headers = { "cf-access-jwt-assertion": assertion };
    return app.fetch(new Request(ORIGIN + path, { method, headers }), access);
  };
  expect((await ask("GET", "/v1/tokens")).status).toBe(200);
  for (const [method, path] of [
    ["POST", "/v1/tokens"],
    ["DELETE", "/v1/tokens/x"],
    ["POST", "/v1/nodes/a/revoke"],
    ["DELETE", "/v1/nodes/a"],
  ] as const) {
    expect((await ask(method, path)).status).toBe(403);
  }
});
