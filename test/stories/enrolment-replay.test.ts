// Tests that a recorded or delayed enrolment that arrives later changes nothing, whatever its token allows.
import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type MachineKey, makeMachineKey } from "../../node-shim/identity/identity.ts";
import { leave, rotate } from "../../node-shim/worker-link/requests.ts";
import type { Problem } from "../../shared/protocol/answers.ts";
import type { PendingMachine } from "../../shared/protocol/operator-answers.ts";
import { registry } from "../../worker/env.ts";
import { FAILURE_LIMIT } from "../../worker/http/failure-limits.ts";
import { CHALLENGE_GOOD_MS } from "../../worker/identity/issued.ts";
import { findPin } from "../../worker/registry/pins.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import { challengeFor, enrolmentBody, enrolmentPath } from "../worker/support/enrolling.ts";
import {
  type EnrolledMachine,
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  indexIsUpdated,
  mintToken,
  operator,
  send,
  shimOf,
  transport,
} from "../worker/support/machine.ts";
import { inventedToken } from "../worker/support/invented-tokens.ts";
import { shift } from "../worker/support/clock.ts";

const HOUR_MS = 3_600_000;
const ENROLLED = { kid: expect.any(String) };
const REFUSED = { reason: "token-refused", status: 401 };
const STALE = [409, "challenge-stale"];

// Restores the functions that a test has replaced by spies.
afterEach(() => {
  vi.restoreAllMocks();
});
let names = 0;
const nextName = (prefix: string) => `${prefix}-${++names}`;

const reportOf = (machine: Omit<EnrolledMachine, "ticket">) => shimOf(machine)(facts(machine.name), HEALTHY);

const put = async (name: string, body: string, address?: string) => {
  const headers: Record<string, string> = address === undefined ? {} : { "cf-connecting-ip": address };
  const response = await send(enrolmentPath(name), { method: "PUT", headers, body });
  const answer = await response.json<Problem>();
  return { status: response.status, reason: answer.reason, answer };
};
const outcomeOf = async (name: string, body: string) => {
  const { status, reason } = await put(name, body);
  return [status, reason];
};

/** Returns the registry's pin and waiting machines of a name. */
async function recordsOf(name: string) {
  const pin = await runInDurableObject(registry(env), (_, { storage }) => findPin(storage.sql, name));
  const { body } = await operator<{ pending: PendingMachine[] }>("GET", "/v1/pending");
  return { pin, pending: body.pending.filter((machine) => machine.name === name) };
}

/**
 * Returns the number of rows that the registry and the node object write during `act`, by SQLite's count. The log
 * of refusals does not count, since it has its own limits.
 */
async function rowsWritten(name: string, act: () => Promise<unknown>): Promise<number> {
  // The node object updates the fleet index in the background, which must end before rows are counted.
  if (await env.NODES.getByName(name).show()) await indexIsUpdated(name);
  const objects = [registry(env), env.NODES.getByName(name)] as DurableObjectStub[];
  const spies = await Promise.all(
    objects.map((object) =>
      runInDurableObject(object, (_, { storage }) => ({ object, exec: vi.spyOn(storage.sql, "exec") })),
    ),
  );
  await act();
  let rows = 0;
  for (const { object, exec } of spies) {
    rows += await runInDurableObject(object, () => {
      const written = exec.mock.results
        .filter((_, at) => !/\brefusal_(log|counts)\b/.test(exec.mock.calls[at]?.[0] ?? ""))
        .reduce((sum, { value }) => sum + (value as Cursor).rowsWritten, 0);
      exec.mockRestore();
      return written;
    });
  }
  return rows;
}
type Cursor = SqlStorageCursor<Record<string, SqlStorageValue>>;

const rejoinToken = (name: string) => mintToken({ names: name, rejoin: true, expiresInSeconds: 600 });

/** Enrols a machine with a rejoin token. Returns the machine, and the request that enrolled it. */
async function recorded(name: string) {
  const [joinToken, key] = [await rejoinToken(name), await makeMachineKey()];
  const body = await enrolmentBody(name, { joinToken, key });
  const { status, answer } = await put(name, body);
  expect(status).toBe(200);
  const { kid } = answer as unknown as { kid: string };
  return { machine: { name, key, kid }, body, joinToken };
}

/** Enrols another machine, which has the name from now on and reports. */
async function live(name: string, wish: Record<string, unknown> = {}) {
  const machine = await enrolled(name, wish);
  expect(await reportOf(machine)).toMatchObject({ ok: true, value: { phase: "registered" } });
  return machine;
}

type Recorded = Awaited<ReturnType<typeof recorded>>;

describe.each<[string, (name: string, before: Recorded) => Promise<EnrolledMachine>]>([
  [
    "the name was taken back",
    async (name, { machine }) => {
      expect(await reportOf(machine)).toMatchObject({ ok: true });
      return live(name, { rejoin: true });
    },
  ],
  [
    "a revocation",
    async (name, { machine }) => {
      expect(await reportOf(machine)).toMatchObject({ ok: true });
      expect((await operator("POST", `/v1/nodes/${name}/revoke`)).status).toBe(204);
      return live(name);
    },
  ],
  [
    "its machine left",
    async (name, { machine }) => {
      expect(await reportOf(machine)).toMatchObject({ ok: true });
      expect(await leave(transport, { ...machine, origin: ORIGIN })).toMatchObject({ ok: true });
      return live(name);
    },
  ],
  [
    "its machine's claim lapsed, unreported for 24 hours",
    async (name) => {
      shift(24 * HOUR_MS);
      return live(name);
    },
  ],
])("a recorded enrolment with a rejoin token, sent again after %s", (_situation, happened) => {
  it.each([
    ["at once", 0],
    ["as long after as a challenge is good", CHALLENGE_GOOD_MS],
    ["when its token has expired", HOUR_MS],
  ])("%s → refused; the machine that has the name goes on, and no row is written", async (_, forMs) => {
    const name = nextName("replay");
    const before = await recorded(name);
    const machine = await happened(name, before);
    shift(forMs);
    await indexIsUpdated(name);
    const records = await recordsOf(name);
    const rows = await rowsWritten(name, async () => {
      for (let replay = 0; replay < 3; replay++)
        expect([401, 409]).toContain((await put(name, before.body)).status);
    });
    expect(rows).toBe(0);
    expect(await recordsOf(name)).toEqual(records);
    expect(await reportOf(machine)).toMatchObject({ ok: true, value: { phase: "registered" } });
  });

  it("→ its key is not accepted again, with any token", async () => {
    const name = nextName("back");
    const before = await recorded(name);
    const machine = await happened(name, before);
    const { key } = before.machine;
    for (const joinToken of [before.joinToken, await mintToken({ names: name }), await rejoinToken(name)])
      expect(await enrolling(name, { joinToken, key })).toEqual(REFUSED);
    expect(await reportOf(machine)).toMatchObject({ ok: true });
  });
});

describe("a delayed enrolment", () => {
  /** Returns an enrolment that is signed now but not sent. */
  const heldBack = async (name: string) => {
    const [joinToken, key] = [await rejoinToken(name), await makeMachineKey()];
    return { joinToken, key, body: await enrolmentBody(name, { joinToken, key }) };
  };

  it.each([
    ["just as long as its challenge is good → taken", CHALLENGE_GOOD_MS, 200],
    ["longer → has to be signed again", CHALLENGE_GOOD_MS + 1, 409],
  ])("%s", async (_, forMs, status) => {
    const name = nextName("held-back");
    const { joinToken, key, body } = await heldBack(name);
    shift(forMs);
    expect((await put(name, body)).status).toBe(status);
    expect(await enrolling(name, { joinToken, key })).toMatchObject(ENROLLED);
  });

  it.each<[string, (name: string) => Promise<unknown>]>([
    ["the name was enrolled", (name) => live(name)],
    ["the name was taken over", (name) => live(name, { rejoin: true })],
    ["an operator revoked the name", (name) => operator("POST", `/v1/nodes/${name}/revoke`)],
    ["an operator removed the machine", (name) => operator("DELETE", `/v1/nodes/${name}`)],
    [
      "an operator rejected another machine",
      async (name) => {
        const key = await makeMachineKey();
        await enrolling(name, { joinToken: await mintToken({ names: name }), key });
        await operator("POST", `/v1/nodes/${name}/reject`, { thumbprint: key.thumbprint });
      },
    ],
    [
      "an operator approved another machine",
      async (name) => {
        const key = await makeMachineKey();
        await enrolling(name, { joinToken: await mintToken({ names: name }), key });
        await operator("POST", `/v1/nodes/${name}/approve`, { thumbprint: key.thumbprint });
      },
    ],
  ])("while %s → changes nothing; signed again, it is decided anew", async (situation, happens) => {
    const name = nextName("overtaken");
    if (situation !== "the name was enrolled") await live(name);
    shift(1000);
    const { joinToken, key, body } = await heldBack(name);
    shift(1);
    await happens(name);
    shift(1);
    const records = await recordsOf(name);
    expect(await rowsWritten(name, async () => expect(await outcomeOf(name, body)).toEqual(STALE))).toBe(0);
    expect(await recordsOf(name)).toEqual(records);
    expect(await enrolling(name, { joinToken, key })).toMatchObject(ENROLLED);
  });

  it("in the same millisecond as a change → changes nothing either", async () => {
    const name = "overtaken-at-once";
    await live(name);
    const { body } = await heldBack(name);
    await operator("POST", `/v1/nodes/${name}/revoke`);
    expect(await outcomeOf(name, body)).toEqual(STALE);
  });

  it("while its token was revoked → refused", async () => {
    const name = "overtaken-token";
    const { body: minted } = await operator<{ id: string; token: string }>("POST", "/v1/tokens", {
      names: name,
      expiresInSeconds: 600,
      uses: 1,
    });
    const body = await enrolmentBody(name, { joinToken: minted.token, key: await makeMachineKey() });
    await operator("DELETE", `/v1/tokens/${minted.id}`);
    expect(await outcomeOf(name, body)).toEqual([401, "token-refused"]);
  });
});

describe("a lost answer", () => {
  it("→ the repeated enrolment gets the same answer, also with a used-up or expired token", async () => {
    const name = "enrolment-unanswered";
    const { machine, body, joinToken } = await recorded(name);
    expect(await rowsWritten(name, () => put(name, body))).toBe(0);
    // Another machine's enrolment does write rows, which shows that rows are counted.
    expect(await rowsWritten(name, () => enrolled(`${name}-2`))).toBeGreaterThan(0);
    expect(await enrolling(name, { joinToken, key: machine.key })).toEqual({ kid: machine.kid });
    shift(HOUR_MS);
    expect(await enrolling(name, { joinToken, key: machine.key })).toEqual({ kid: machine.kid });
  });
});

describe("a machine without a report for 24 hours, and without a rival for its name", () => {
  const lapsed = async (name: string, expiresInSeconds: number) => {
    const [joinToken, key] = [await mintToken({ names: name, expiresInSeconds }), await makeMachineKey()];
    await enrolling(name, { joinToken, key });
    shift(24 * HOUR_MS);
    return { joinToken, key };
  };

  it.each([
    ["while its token is good → has the name again", 25 * 3600, ENROLLED],
    ["when its token has expired → refused", 24 * 3600, REFUSED],
  ])("enrols again %s", async (_, expiresInSeconds, outcome) => {
    const name = nextName("lapsed");
    const { joinToken, key } = await lapsed(name, expiresInSeconds);
    expect(await enrolling(name, { joinToken, key })).toMatchObject(outcome);
  });

  it("after it rotated → the next machine gets the name, and both its keys are revoked", async () => {
    const name = "lapsed-rotated";
    const { machine } = await recorded(name);
    const next = await makeMachineKey();
    expect(await rotate(transport, { ...machine, origin: ORIGIN }, next)).toMatchObject({ ok: true });
    shift(24 * HOUR_MS);
    await live(name);
    for (const key of [machine.key, next])
      expect(await enrolling(name, { joinToken: await rejoinToken(name), key })).toEqual(REFUSED);
  });
});

it("a pending machine whose token has expired → gets the free name only from an operator", async () => {
  const name = "waits-expired";
  await live(name);
  const [joinToken, key] = [await mintToken({ names: name, expiresInSeconds: 60 }), await makeMachineKey()];
  expect(await enrolling(name, { joinToken, key })).toMatchObject({ reason: "name-pinned" });
  shift(60_000);
  await operator("DELETE", `/v1/nodes/${name}`);
  expect(await enrolling(name, { joinToken, key })).toEqual(REFUSED);
  const { thumbprint } = key;
  expect((await operator("POST", `/v1/nodes/${name}/approve`, { thumbprint })).status).toBe(204);
  expect(await enrolling(name, { joinToken, key })).toMatchObject(ENROLLED);
});

it("a pending machine whose key was revoked elsewhere → cannot be approved", async () => {
  const [name, elsewhere] = ["waits-buried", "waits-buried-elsewhere"];
  await live(name);
  const { key } = await enrolled(elsewhere);
  expect(await enrolling(name, { joinToken: await mintToken({ names: name }), key })).toMatchObject({
    reason: "name-pinned",
  });
  await operator("POST", `/v1/nodes/${elsewhere}/revoke`);
  const { thumbprint } = key;
  expect((await operator("POST", `/v1/nodes/${name}/approve`, { thumbprint })).status).toBe(404);
});

/** Counts verified signatures from now on, without MACs. The returned function returns their number. */
const signaturesVerified = () => {
  const verify = vi.spyOn(crypto.subtle, "verify");
  return () =>
    verify.mock.calls.filter(([algorithm]) => (algorithm as { name?: string }).name !== "HMAC").length;
};

describe("a challenge", () => {
  const NAME = "challenge-mine";
  const OTHER_SECRET = `2:${Buffer.alloc(32, 7).toString("base64url")}`;
  const other = makeMachineKey();

  it.each<[string, (key: MachineKey) => Promise<string> | string]>([
    ["that is none", () => ""],
    ["for another name", (key) => challengeFor("challenge-yours", key)],
    ["for another key", async () => challengeFor(NAME, await other)],
    ["of another deployment", (key) => challengeFor(NAME, key, { macKeys: OTHER_SECRET })],
    ["that is older than 60 seconds", (key) => challengeFor(NAME, key, { atMs: Date.now() - 60_001 })],
  ])("%s → another one, before any signature is verified or the registry is asked", async (_, make) => {
    const [joinToken, key] = [await mintToken({ names: NAME }), await makeMachineKey()];
    const body = await enrolmentBody(NAME, { joinToken, key, challenge: await make(key) });
    const [verified, ask] = [signaturesVerified(), vi.spyOn(env.REGISTRY, "getByName")];
    const { status, reason, answer } = await put(NAME, body);
    expect([status, reason]).toEqual(STALE);
    expect(answer.challenge).toBe(await challengeFor(NAME, key));
    expect([verified(), ask.mock.calls.length]).toEqual([0, 0]);
  });

  it("signed by the machine and not by its token → refused", async () => {
    const name = "challenge-unbound";
    const [joinToken, key] = [await mintToken({ names: name }), await makeMachineKey()];
    const old = await enrolmentBody(name, { joinToken, key, challenge: "an old one" });
    const fresh = await enrolmentBody(name, { joinToken, key });
    const binding = (JSON.parse(old) as { binding: string }).binding;
    const body = JSON.stringify({ ...(JSON.parse(fresh) as object), binding });
    expect(await outcomeOf(name, body)).toEqual([401, "token-refused"]);
  });

  it("→ is the same for a stranger, whether or not a machine has the name", async () => {
    const [pinned, free] = ["challenge-pinned", "challenge-free"];
    await live(pinned);
    const key = await makeMachineKey();
    const joinToken = inventedToken();
    const answers = [];
    for (const name of [pinned, free]) {
      const body = await enrolmentBody(name, { joinToken, key, challenge: "" });
      const { answer } = await put(name, body);
      expect(answer.challenge).toBe(await challengeFor(name, key));
      answers.push({ ...answer, challenge: "" });
    }
    expect(answers[0]).toEqual(answers[1]);
  });
});

describe("the same old enrolment, repeated from one address", () => {
  it("→ verifies no signature, asks no object, and counts as no failure: another machine at that address can enrol", async () => {
    const name = "over-and-over";
    const { body } = await recorded(name);
    shift(CHALLENGE_GOOD_MS + 1);
    const [verified, ask] = [signaturesVerified(), vi.spyOn(env.REGISTRY, "getByName")];
    const address = "192.0.2.250";
    for (let replay = 0; replay <= FAILURE_LIMIT.failures; replay++)
      expect((await put(name, body, address)).reason).toBe("challenge-stale");
    expect([verified(), ask.mock.calls.length]).toEqual([0, 0]);
    const neighbour = "over-and-over-beside";
    const [joinToken, key] = [await mintToken({ names: neighbour }), await makeMachineKey()];
    const response = await exports.default.fetch(
      new Request(ORIGIN + enrolmentPath(neighbour), {
        method: "PUT",
        headers: { "cf-connecting-ip": address },
        body: await enrolmentBody(neighbour, { joinToken, key }),
      }),
    );
    expect(response.status).toBe(200);
  });
});
