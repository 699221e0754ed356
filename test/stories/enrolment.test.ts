// Tests join tokens and enrolment: which machine's key is pinned, and which clients learn nothing from the answers.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { signEnrolment } from "../../node-shim/worker-link/sign.ts";
import { joinTokenKey } from "../../node-shim/identity/join-token.ts";
import { type MachineKey, makeMachineKey } from "../../node-shim/identity/identity.ts";
import type { Problem } from "../../shared/protocol/answers.ts";
import { registry } from "../../worker/env.ts";
import { nameMatches } from "../../worker/identity/join-token.ts";
import { ADMIN_SECRET } from "../worker/support/constants.ts";
import { enrolmentBody, enrolmentPath, toSign } from "../worker/support/enrolling.ts";
import { inventedToken } from "../worker/support/invented-tokens.ts";
import {
  enrolling as enrollingWith,
  facts,
  HEALTHY,
  mintToken,
  send,
  shimOf,
} from "../worker/support/machine.ts";
import { shift } from "../worker/support/clock.ts";

interface Wish {
  joinToken: string;
  key?: MachineKey;
  machineID?: string;
}

async function enrolling(name: string, { joinToken, key, machineID = "m-1" }: Wish) {
  return enrollingWith(name, { joinToken, key: key ?? (await makeMachineKey()), machineID });
}

const REFUSED = { reason: "token-refused", status: 401 };

describe("a join token", () => {
  it("for the name → enrolled", async () => {
    expect(
      await enrolling("enrol-good", { joinToken: await mintToken({ names: "enrol-good" }) }),
    ).toMatchObject({ kid: expect.any(String) });
  });

  it("for another name → refused", async () => {
    expect(await enrolling("enrol-other", { joinToken: await mintToken({ names: "enrol-else" }) })).toEqual(
      REFUSED,
    );
  });

  it("that was never minted → refused", async () => {
    expect(await enrolling("enrol-forged", { joinToken: inventedToken() })).toEqual(REFUSED);
  });

  it("that is refused → the log of refusals has its ID and the reason; the client gets neither", async () => {
    const asks = async (name: string, address: string, joinToken: string) => {
      const key = await makeMachineKey();
      const headers = { "cf-connecting-ip": address, "content-type": "application/json" };
      const body = await enrolmentBody(name, { joinToken, key });
      const response = await send(enrolmentPath(name), { method: "PUT", headers, body });
      expect(await response.json()).toMatchObject({
        reason: "token-refused",
        detail: expect.stringMatching(/^Ask/),
      });
      return `key ${key.thumbprint}, from ${address}`;
    };
    const joinToken = await mintToken({ names: "enrol-log-else" });
    const { id } = await joinTokenKey(joinToken);
    // A token without a row: an invented token does not reach the registry, and has no entry.
    const removed = await mintToken({ names: "enrol-log" });
    const { id: removedId } = await joinTokenKey(removed);
    await runInDurableObject(registry(env), (_, { storage }) => {
      storage.sql.exec("DELETE FROM tokens WHERE id = ?", removedId);
    });
    const [other, unknown] = [
      await asks("enrol-log", "203.0.113.7", joinToken),
      await asks("enrol-log", "203.0.113.7", removed),
    ];
    await asks("enrol-log", "203.0.113.7", removed);
    await asks("enrol-log", "203.0.113.8", inventedToken());
    const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
    const answer = await send("/v1/audit?by=refusals&target=enrol-log", { method: "GET", headers });
    const { entries } = await answer.json<{ entries: { who: string; detail: string }[] }>();
    expect(entries.map(({ who, detail }) => [who, detail])).toEqual([
      [`token ${removedId}`, `there is no such token, ${unknown}`],
      [`token ${id}`, `the token is for other names, ${other}`],
    ]);
  });

  it("that has expired → refused, except for a machine that it admitted before", async () => {
    const joinToken = await mintToken({ names: "enrol-late-*", uses: 2, expiresInSeconds: 60 });
    const key = await makeMachineKey();
    const first = await enrolling("enrol-late-1", { joinToken, key });
    shift(60_000);
    expect(await enrolling("enrol-late-2", { joinToken })).toEqual(REFUSED);
    expect(await enrolling("enrol-late-1", { joinToken, key })).toEqual(first);
  });

  it("counts a machine once for any number of retries; one machine more than its uses → refused", async () => {
    const joinToken = await mintToken({ names: "enrol-uses-*", uses: 2 });
    const key = await makeMachineKey();
    for (let retry = 0; retry < 3; retry++) {
      expect(await enrolling("enrol-uses-1", { joinToken, key })).toMatchObject({ kid: expect.any(String) });
    }
    expect(await enrolling("enrol-uses-2", { joinToken })).toMatchObject({ kid: expect.any(String) });
    expect(await enrolling("enrol-uses-3", { joinToken })).toEqual(REFUSED);
  });

  it.each([
    ["edge-1", "edge-1", true],
    ["edge-1", "edge-10", false],
    ["edge-*", "edge-7", true],
    ["edge-*", "edge-", true],
    ["edge-*", "edge-7.example.com", false],
    ["*.example.com", "a.example.com", true],
    ["*.example.com", "a.b.example.com", false],
    ["*.example.com", "axexample.com", false],
    ["*", "anything", true],
    ["*", "with.dot", false],
  ])("for %s and the name %s → %s", (pattern, name, matches) => {
    expect(nameMatches(pattern, name)).toBe(matches);
  });
});

describe("a pinned name", () => {
  it("with the same key → the same kid, also after an eviction", async () => {
    const [joinToken, key] = [await mintToken({ names: "pin-same" }), await makeMachineKey()];
    const first = await enrolling("pin-same", { joinToken, key });
    await evictDurableObject(env.NODES.getByName("pin-same"));
    expect(await enrolling("pin-same", { joinToken, key })).toEqual(first);
  });

  it("with another key → 409, and the pinned one still reports", async () => {
    const [joinToken, key] = [await mintToken({ names: "pin-other", uses: 2 }), await makeMachineKey()];
    const pinned = await enrolling("pin-other", { joinToken, key });
    const kid = "kid" in pinned ? pinned.kid : "";
    expect(await enrolling("pin-other", { joinToken })).toEqual({ reason: "name-pinned", status: 409 });
    const outcome = await shimOf({ name: "pin-other", key, kid })(facts("pin-other"), HEALTHY);
    expect(outcome).toMatchObject({ ok: true, value: { phase: "registered" } });
  });
});

describe("an enrolment that was tampered with → 401, and the name stays free", () => {
  const NAME = "tampered";
  const put = async (body: unknown, path = enrolmentPath(NAME)) => {
    const response = await send(path, { method: "PUT", body: JSON.stringify(body) });
    return { status: response.status, reason: (await response.json<Problem>()).reason };
  };

  it.each<[string, (joinToken: string) => Promise<unknown>]>([
    [
      "the proof of another key",
      async (joinToken) => {
        const [one, other] = [await makeMachineKey(), await makeMachineKey()];
        const signed = await toSign(NAME, other);
        const { binding } = await signEnrolment(one, joinToken, signed);
        const { proof } = await signEnrolment(other, joinToken, signed);
        return { protocol: 1, proof, binding };
      },
    ],
    [
      "whose binding is signed for another origin",
      async (joinToken) => {
        const key = await makeMachineKey();
        const signed = await toSign(NAME, key);
        const { proof } = await signEnrolment(key, joinToken, signed);
        const { binding } = await signEnrolment(key, joinToken, { ...signed, origin: "https://evil.test" });
        return { protocol: 1, proof, binding };
      },
    ],
    [
      "signed for another path",
      async (joinToken) => {
        const key = await makeMachineKey();
        const signed = await toSign(NAME, key, { path: enrolmentPath("other") });
        return { protocol: 1, ...(await signEnrolment(key, joinToken, signed)) };
      },
    ],
    [
      "binding and proof swapped",
      async (joinToken) => {
        const key = await makeMachineKey();
        const { proof, binding } = await signEnrolment(key, joinToken, await toSign(NAME, key));
        return { protocol: 1, proof: binding, binding: proof };
      },
    ],
  ])("%s", async (_, make) => {
    const joinToken = await mintToken({ names: "*", uses: 10 });
    expect(await put(await make(joinToken))).toMatchObject({ status: 401 });
  });

  it.each(["", "good"])("signed for another origin, over the challenge %j → says so", async (challenge) => {
    const key = await makeMachineKey();
    const joinToken = await mintToken({ names: "*" });
    const more = { origin: "https://evil.test", ...(challenge === "" && { challenge }) };
    const body = { protocol: 1, ...(await signEnrolment(key, joinToken, await toSign(NAME, key, more))) };
    expect(await put(body)).toEqual({ status: 401, reason: "wrong-origin" });
  });

  it("of another form → 400", async () => {
    expect(await put({ protocol: 2 })).toEqual({ status: 400, reason: "invalid-body" });
  });

  it.each(["UPPER", "-dash", "a..b", "a".repeat(254)])("for the name %s → 400", async (name) => {
    expect(await put({}, enrolmentPath(name))).toEqual({ status: 400, reason: "invalid-name" });
  });
});

describe("POST /v1/tokens", () => {
  const post = async (authorization: string | null, body: unknown) => {
    const response = await send("/v1/tokens", {
      method: "POST",
      headers: authorization === null ? {} : { authorization },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json<Problem>() };
  };
  const GOOD = { names: "edge-*", expiresInSeconds: 60, uses: 1 };

  it.each([null, "Bearer wrong", `Basic ${ADMIN_SECRET}`])(
    "with the authorization %s → 403",
    async (authorization) => {
      expect(await post(authorization, GOOD)).toMatchObject({ status: 403, body: { reason: "forbidden" } });
    },
  );

  it.each<[string, object, string]>([
    ["no names", { names: "" }, "/names"],
    ["a pattern with other characters", { names: "edge_*" }, "/names"],
    ["no lifetime", { expiresInSeconds: 0 }, "/expiresInSeconds"],
    ["more than a year", { expiresInSeconds: 31_536_001 }, "/expiresInSeconds"],
    ["no use", { uses: 0 }, "/uses"],
    ["too many uses", { uses: 100_001 }, "/uses"],
  ])("%s → 400 at the fault", async (_, wish, pointer) => {
    expect(await post(`Bearer ${ADMIN_SECRET}`, { ...GOOD, ...wish })).toMatchObject({
      status: 400,
      body: { pointer },
    });
  });

  it("at the limits → 201", async () => {
    const wish = { ...GOOD, expiresInSeconds: 31_536_000, uses: 100_000 };
    expect((await post(`Bearer ${ADMIN_SECRET}`, wish)).status).toBe(201);
  });
});

describe("unknown paths", () => {
  it.each([
    ["PUT", "/v1/tokens", 405],
    ["POST", "/v1/pending", 405],
    ["DELETE", "/v1/audit", 405],
    ["GET", "/v1/nodes/a/approve", 405],
    ["GET", "/v1/nodes/a/report", 405],
    ["POST", "/v1/nodes/a/other", 404],
    ["GET", "/", 404],
  ])("%s %s → %i", async (method, path, status) => {
    expect((await send(path, { method })).status).toBe(status);
  });
});
