// Tests a machine's enrolment: its requests, the stored enrolment, and the next step after a failure.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeJwt } from "jose";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { makeMachineKey, storedEnrolment } from "../../../node-shim/identity/identity.ts";
import type { Machine } from "../../../node-shim/machine/machine.ts";
import { afterEnrolment, atItsTurn, enrolMachine } from "../../../node-shim/worker-link/enrol.ts";
import type { Reason } from "../../../shared/protocol/answers.ts";
import { failure, success } from "../../../shared/result.ts";
import { problem } from "../../../worker/problems.ts";
import { eventually } from "../base/eventually.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { heldTimers } from "../base/timers.ts";
import { JOIN_TOKEN } from "../cli/machine-folder.ts";

const refused = (reason: Reason, retryAfterMs?: number) => ({
  reason: "refused" as const,
  problem: problem(reason, { title: "Title", detail: "Detail." }),
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});

describe("a failed enrolment", () => {
  it.each([
    [
      "the name is another machine's, at the earliest",
      refused("name-pinned"),
      0,
      30_000,
      /^waiting for an operator: .*Detail.*token-7$/,
    ],
    ["the name is another machine's, at the latest", refused("name-pinned"), 0.999, 59_970, /^waiting/],
    ["the Worker sets a longer wait", refused("name-pinned", 90_000), 0, 90_000, /^waiting/],
    ["the Worker has a fault", refused("internal"), 0.5, 2500, /^enrolment failed: Title; trying again$/],
    ["the Worker is not configured", refused("not-configured"), 0.5, 2500, /Title\. Detail\.; trying again$/],
    ["its signature arrived too late", refused("challenge-stale"), 0.5, 2500, /trying again$/],
    ["its address is over a limit", refused("rate-limited", 60_000), 0.5, 60_000, /trying again$/],
    ["many machines are ahead", refused("busy", 40_000), 0.5, 40_000, /^waiting to enrol: Detail\.$/],
    ["the Worker has a fault and sets a wait", refused("internal", 7000), 0.5, 7000, /trying again$/],
    [
      "the Worker cannot be reached",
      { reason: "failed" as const, message: "no" },
      0.5,
      2500,
      /failed: no; trying again$/,
    ],
  ])("%s → tries again after that wait, and logs it", (_, fault, random, waitMs, say) => {
    const next = afterEnrolment(fault, "token-7", 1, () => random);
    expect(next.waitMs).toBeCloseTo(waitMs);
    expect(next.message).toMatch(say);
  });

  it.each([
    [1, 5000],
    [2, 10_000],
    [4, 40_000],
    [5, 60_000],
    [50, 60_000],
  ])("%i failures in a row → waits up to %i ms", (failures, waitMs) => {
    expect(afterEnrolment(refused("internal"), "token-7", failures, () => 1).waitMs).toBe(waitMs);
  });

  it.each<Reason>(["token-refused", "wrong-origin", "unauthenticated", "invalid-body"])(
    "%s → ends with advice",
    (reason) => {
      expect(() => afterEnrolment(refused(reason), "token-7", 1, Math.random)).toThrow(
        /^enrolment refused: Title\. Detail\. Join token: token-7$/,
      );
    },
  );
});

describe("an enrolment at its turn", () => {
  const enrolled = success({ kid: "kid", ticket: "ticket" });
  const busy = failure(refused("busy", 7000));
  const unproven = failure(refused("unauthenticated"));
  const unanswered = failure({ reason: "failed" as const, message: "no" });
  it.each([
    ["other machines are ahead twice → waits twice", [busy, busy, enrolled], enrolled, [7000, 7000]],
    ["no time in the answer → waits five seconds", [failure(refused("busy")), enrolled], enrolled, [5000]],
    ["the Worker has another reason → returns the refusal at once", [unproven, enrolled], unproven, []],
    ["no answer → returns the fault at once", [unanswered, enrolled], unanswered, []],
  ])("%s", async (_, answers, expected, waits) => {
    const waited: number[] = [];
    const wait = (ms: number) => Promise.resolve(void waited.push(ms));
    expect(await atItsTurn(() => Promise.resolve(answers[waited.length]!), wait)).toBe(expected);
    expect(waited).toEqual(waits);
  });

  it("the caller stops → returns the refusal", async () => {
    const never = () => Promise.reject(new Error("waited"));
    expect(await atItsTurn(() => Promise.resolve(busy), never, AbortSignal.abort())).toBe(busy);
  });
});

describe("a machine without an enrolment", () => {
  type Answer = { status: number; body: object };
  const ENROLLED: Answer = { status: 200, body: { kid: "k-1", ticket: "t" } };
  const failing = (title: string): Answer => ({ status: 500, body: { reason: "internal", title } });
  const IDS = { machineID: "machine", systemUUID: "system" };

  /** Starts the enrolment of a machine whose Worker has these answers. `proofs` has the claims of the requests. */
  async function enrolling(
    answers: (Answer | (() => Answer))[],
    { facts = { machine: IDS }, mode = 0o600 }: { facts?: object; mode?: number } = {},
  ) {
    const { path: state, remove } = temporaryFolder();
    onTestFinished(remove);
    const joinTokenFile = join(state, "token");
    writeFileSync(joinTokenFile, JOIN_TOKEN, { mode });
    const key = await makeMachineKey();
    const stopping = new AbortController();
    const [lines, proofs]: [string[], unknown[]] = [[], []];
    const enrolled = enrolMachine({
      flags: { state, joinTokenFile },
      machine: { name: "edge-1", gather: () => Promise.resolve({ facts }) } as unknown as Machine,
      key,
      origin: "https://a.example",
      send: ({ body }) => {
        proofs.push(decodeJwt((JSON.parse(body) as { proof: string }).proof));
        const next = answers[proofs.length - 1]!;
        const answer = typeof next === "function" ? next() : next;
        return Promise.resolve({ status: answer.status, body: JSON.stringify(answer.body) });
      },
      log: (level, message) => lines.push(`${level} ${message}`),
      stop: stopping.signal,
      store: (store) => Promise.resolve(store()),
    });
    return { enrolled, state, key, stopping, lines, proofs };
  }

  it.each([
    ["its IDs", { machine: IDS }, IDS],
    ["empty IDs, if it has none", {}, { machineID: "", systemUUID: "" }],
  ])("→ sends its name and %s, and stores the enrolment", async (_, facts, sent) => {
    const { enrolled, state, key, lines, proofs } = await enrolling([ENROLLED], { facts });
    expect(await enrolled).toEqual(ENROLLED.body);
    expect(proofs).toEqual([expect.objectContaining({ sub: "edge-1", aud: "https://a.example", ...sent })]);
    const { thumbprint } = key;
    const origin = "https://a.example";
    expect(storedEnrolment(state)).toEqual({ name: "edge-1", thumbprint, kid: "k-1", origin });
    expect(lines).toEqual([`info enrolled as edge-1 at https://a.example, key ${thumbprint}`]);
  });

  it("others can read the token's file → a warning", async () => {
    const { enrolled, lines } = await enrolling([ENROLLED], { mode: 0o644 });
    await enrolled;
    expect(lines[0]).toMatch(/^warn --join-token-file \S+ can be read by other users/);
  });

  it("failures → longer waits, and one line for each kind of failure", async () => {
    const pass = heldTimers();
    vi.spyOn(Math, "random").mockReturnValue(1);
    onTestFinished(() => void vi.restoreAllMocks());
    const { enrolled, lines, proofs } = await enrolling([failing("A"), failing("B"), failing("B"), ENROLLED]);
    for (const waitMs of [5000, 10_000, 20_000]) {
      await eventually(() => vi.getTimerCount()).toBe(1);
      pass(waitMs - 1);
      expect(vi.getTimerCount()).toBe(1);
      pass(1);
      expect(vi.getTimerCount()).toBe(0);
    }
    await enrolled;
    expect(proofs).toHaveLength(4);
    expect(lines.slice(0, -1)).toEqual([
      "warn enrolment failed: A; trying again",
      "warn enrolment failed: B; trying again",
    ]);
  });

  it("stopped while it waits → ends at once, without another request", async () => {
    heldTimers();
    const { enrolled, stopping, proofs } = await enrolling([failing("A")]);
    await eventually(() => vi.getTimerCount()).toBe(1);
    stopping.abort();
    expect(await enrolled).toBeNull();
    expect([proofs.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  it("stopped before its answer, a failure → ends without a line", async () => {
    const started: { stop?: () => void } = {};
    const { enrolled, stopping, lines } = await enrolling([
      () => {
        started.stop?.();
        return failing("A");
      },
    ]);
    started.stop = () => stopping.abort();
    expect(await enrolled).toBeNull();
    expect(lines).toEqual([]);
  });

  it("stopped before its first request → sends none", async () => {
    const { enrolled, stopping, proofs } = await enrolling([]);
    stopping.abort();
    expect(await enrolled).toBeNull();
    expect(proofs).toEqual([]);
  });

  it("refused → the error names the token", async () => {
    const { enrolled } = await enrolling([{ status: 403, body: { reason: "token-refused", title: "No" } }]);
    await expect(enrolled).rejects.toThrow(/^enrolment refused: No\. {2}Join token: [\w-]{43}$/);
  });
});
