// Tests a machine's requests about an upgrade and a rotation, and the answers that it accepts. Stories test enrolling,
// rotating and leaving.
import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, it, test } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { Transport, TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import { askForUpgrade, rotate } from "../../../node-shim/worker-link/requests.ts";
import { sha256Base64url } from "../../../node-shim/worker-link/sign.ts";
import { upgradeSchema } from "../../../shared/protocol/claims.ts";

const ORIGIN = "https://rollcall.example.com";

/** Sends a request to a Worker with these answers, in this order. The last one stays. */
async function asked(...answers: [status: number, body: object][]) {
  const requests: TransportRequest[] = [];
  const send: Transport = async (request) => {
    const [status, body] = answers[Math.min(requests.push(request), answers.length) - 1]!;
    return { status, body: JSON.stringify(body) };
  };
  const machine = { name: "edge-7", origin: ORIGIN, key: await makeMachineKey(), kid: "k" };
  return { outcome: await askForUpgrade(send, machine, "0.1.0"), requests };
}

describe("the request", () => {
  it("is signed for an upgrade, by the machine's key; a stale ticket → repeated at once with the new one", async () => {
    const stale = { reason: "ticket-stale", ticket: "t-1" };
    const { outcome, requests } = await asked([409, stale], [200, { version: "0.2.0" }]);
    expect(outcome).toEqual({ ok: true, value: { version: "0.2.0" } });
    const tokens = requests.map(({ headers }) => headers["authorization"]!.replace("Bearer ", ""));
    expect(tokens.map((token) => decodeProtectedHeader(token))).toEqual([
      { alg: "EdDSA", typ: "rollcall-upgrade+jwt", kid: "k" },
      { alg: "EdDSA", typ: "rollcall-upgrade+jwt", kid: "k" },
    ]);
    const [first, second] = requests;
    const headers = { "content-type": "application/json" };
    expect(first).toMatchObject({ method: "POST", path: "/v1/nodes/edge-7/upgrade", headers });
    expect(upgradeSchema.parse(JSON.parse(first!.body))).toEqual({ protocol: 1, version: "0.1.0" });
    const claims = { sub: "edge-7", aud: ORIGIN, body: sha256Base64url(second!.body), n: 1 };
    expect(tokens.map((token) => decodeJwt(token))).toEqual([
      { ...claims, ticket: "" },
      { ...claims, ticket: "t-1" },
    ]);
  });
});

it("a rotation → the next key's proof, signed by the present key; an answer without a kid → refused", async () => {
  const [key, next] = [await makeMachineKey(), await makeMachineKey()];
  const machine = { name: "edge-7", origin: ORIGIN, key, kid: "k" };
  const requests: TransportRequest[] = [];
  const sendWith =
    (body: object): Transport =>
    (request) => {
      requests.push(request);
      return Promise.resolve({ status: 200, body: JSON.stringify(body) });
    };
  expect(await rotate(sendWith({ kid: "k-2" }), machine, next)).toEqual({ ok: true, value: { kid: "k-2" } });
  expect(await rotate(sendWith({}), machine, next)).toMatchObject({ ok: false, error: { reason: "failed" } });
  const [{ path, headers, body }] = requests as [TransportRequest];
  expect(path).toBe("/v1/nodes/edge-7/rotate");
  expect(decodeProtectedHeader(headers["authorization"]!.replace("Bearer ", ""))).toMatchObject({ kid: "k" });
  const { protocol, proof } = JSON.parse(body) as { protocol: number; proof: string };
  const header = decodeProtectedHeader(proof) as { jwk?: { x: string } };
  expect([protocol, header.jwk?.x, decodeJwt(proof)["previous"]]).toEqual([1, next.jwk.x, key.thumbprint]);
});

describe("the answer", () => {
  const taken = { ok: true };
  const refused = { ok: false, error: { reason: "failed" } };
  test.each<[answer: object, outcome: object]>([
    [{ version: "0.2.0" }, taken],
    [{ version: "0.3.0-rc.1" }, taken],
    [{ version: null, why: "no rollout" }, taken],
    [{ version: null, why: "a reason of a later Worker" }, taken],
    [{ version: null }, refused],
    [{ version: "0.2" }, refused],
    [{ version: "v0.2.0" }, refused],
    [{ version: "0.2.0 --allow-unauthenticated" }, refused],
    [{ version: "0.2.0\n" }, refused],
    [{ version: "0.2.0=" }, refused],
    [{ version: "0.2.0-rc_1" }, refused],
    [{ version: "-o=0.2.0" }, refused],
    [{ version: 2 }, refused],
    [{}, refused],
  ])("%j → %j", async (answer, outcome) => {
    expect((await asked([200, answer])).outcome).toMatchObject(outcome);
  });
});
