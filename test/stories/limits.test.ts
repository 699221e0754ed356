// Tests two limits: failed attempts from an address, and a machine's own requests. Valid clients are served next to
// invalid ones.
import { env, exports } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import type { Problem } from "../../shared/protocol/answers.ts";
import { TICKET_PROTOCOL } from "../../shared/protocol/feed-names.ts";
import { FAILURE_LIMIT } from "../../worker/http/failure-limits.ts";
import { requestLimit, requestRate } from "../../worker/machine/fresh-requests.ts";
import { RATE_LIMITS } from "../../worker/storage/token-bucket.ts";
import { ADMIN_SECRET, ORIGIN } from "../worker/support/constants.ts";
import { enrolmentBody, enrolmentPath } from "../worker/support/enrolling.ts";
import { type EnrolledMachine, enrolled, mintToken, requestsAbout } from "../worker/support/machine.ts";
import { inventedToken } from "../worker/support/invented-tokens.ts";
import { reportBody, reportHeaders } from "../worker/support/posting.ts";
import { shift } from "../worker/support/clock.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const { requests: LIMIT } = RATE_LIMITS;
const PERIOD_MS = FAILURE_LIMIT.seconds * 1000;
type Attempt = (address: string) => Promise<Response>;

interface Asking {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}
const from = (address: string, path: string, init: Asking) =>
  exports.default.fetch(
    new Request(ORIGIN + path, { ...init, headers: { ...init.headers, "cf-connecting-ip": address } }),
  );
const reasonOf = async (response: Response) => [response.status, (await response.json<Problem>()).reason];

let addresses = 0;
/** Returns the number of the current period of the failure limit, by the platform's clock, which no test stops. */
const periodNow = () => Math.floor(vi.getRealSystemTime() / PERIOD_MS);

/**
 * Makes one failed attempt more than an address may make. Repeats with another address unless all attempts are in
 * one period.
 */
async function failing(attempt: Attempt, addressOf = () => `192.0.2.${++addresses}`) {
  for (;;) {
    const period = periodNow();
    const address = addressOf();
    const answers: Response[] = [];
    while (answers.length <= FAILURE_LIMIT.failures) answers.push(await attempt(address));
    if (periodNow() === period) return { address, answers };
  }
}

/** Returns an attempt to report as this machine with a signature by another key. */
async function forged(machine: EnrolledMachine): Promise<Attempt> {
  const body = reportBody(machine.name);
  const headers = await reportHeaders({ ...machine, key: await makeMachineKey() }, body);
  return (address) => from(address, `/v1/nodes/${machine.name}/report`, { method: "POST", headers, body });
}

/** Returns an attempt to enrol, whose challenge is as old as the attempt. */
async function enrolment(name: string, joinToken: string): Promise<Attempt> {
  const key = await makeMachineKey();
  return async (address) => {
    const body = await enrolmentBody(name, { joinToken, key });
    return from(address, enrolmentPath(name), { method: "PUT", body });
  };
}

const asOperator =
  (secret: string): Attempt =>
  (address) =>
    from(address, "/v1/tokens", { headers: { authorization: `Bearer ${secret}` } });

const madeUpTicket: Attempt = (address) =>
  from(address, "/v1/feed", {
    headers: { upgrade: "websocket", "sec-websocket-protocol": `${TICKET_PROTOCOL}${"A".repeat(43)}` },
  });

const noKid: Attempt = (address) =>
  from(address, "/v1/nodes/limit-none/report", { method: "POST", body: "{}" });

describe("failures of one address: refused as usual at the limit; just over it 429", () => {
  it.each<[string, () => Promise<Attempt> | Attempt, [number, string]]>([
    ["reports without a kid of ours", () => noKid, [401, "unauthenticated"]],
    ["reports by another key", async () => forged(await enrolled("limit-forged")), [401, "unauthenticated"]],
    [
      "enrolments without a proof",
      () => (address) =>
        from(address, "/v1/nodes/limit-proof/enrolment", {
          method: "PUT",
          body: JSON.stringify({ protocol: 1, proof: "x", binding: "x" }),
        }),
      [401, "unauthenticated"],
    ],
    [
      "enrolments with a token that was never minted",
      () => enrolment("limit-token", inventedToken()),
      [401, "token-refused"],
    ],
    ["operators with a wrong secret", () => asOperator("wrong"), [403, "forbidden"]],
    ["feeds by a made-up ticket", () => madeUpTicket, [403, "forbidden"]],
  ])("%s", async (_, attempt, refused) => {
    const { answers } = await failing(await attempt());
    const last = answers.pop()!;
    for (const answer of answers) expect(await reasonOf(answer)).toEqual(refused);
    expect(last.headers.get("retry-after")).toBe(String(FAILURE_LIMIT.seconds));
    expect(await reasonOf(last)).toEqual([429, "rate-limited"]);
  });

  it("IPv6: a customer's 64 bits of addresses count as one; another customer has a count of its own", async () => {
    let network = 0;
    let host = 0;
    const first = await failing(
      () => noKid(`2001:db8:${network.toString(16)}:1:${(++host).toString(16)}::1`),
      () => (network++, ""),
    );
    expect(first.answers.map(({ status }) => status).slice(-2)).toEqual([401, 429]);
    expect((await noKid(`2001:db8:${network.toString(16)}:2::1`)).status).toBe(401);
  });

  it("no address, as without the platform's proxy → never 429", async () => {
    const { answers } = await failing(() => noKid(""));
    expect(answers.at(-1)?.status).toBe(401);
  });
});

describe("at an address over the limit", () => {
  it("an enrolled machine reports, an operator operates; a new machine waits until the failures end", async () => {
    const machine = await enrolled("limit-neighbour");
    const enrol = await enrolment("limit-new", await mintToken({ names: "limit-new" }));
    const { address } = await failing(noKid);
    const body = reportBody(machine.name);
    const headers = await reportHeaders(machine, body, { ticket: machine.ticket });
    const report = await from(address, `/v1/nodes/${machine.name}/report`, { method: "POST", headers, body });
    expect(report.status).toBe(200);
    expect((await asOperator(ADMIN_SECRET)(address)).status).toBe(200);
    expect(await reasonOf(await enrol(address))).toEqual([429, "rate-limited"]);
    expect((await enrol(`192.0.2.${++addresses}`)).status).toBe(200);
    shift(PERIOD_MS);
    expect((await enrol(address)).status).toBe(200);
  });

  it("an enrolment verifies no signature and asks no object", async () => {
    const enrol = await enrolment("limit-cheap", await mintToken({ names: "limit-cheap" }));
    const { address } = await failing(noKid);
    const [verify, ask] = [vi.spyOn(crypto.subtle, "verify"), vi.spyOn(env.REGISTRY, "getByName")];
    expect((await enrol(address)).status).toBe(429);
    expect([verify.mock.calls.length, ask.mock.calls.length]).toEqual([0, 0]);
    expect((await enrol(`192.0.2.${++addresses}`)).status).toBe(200);
    // An admitted enrolment verifies three times: the challenge's MAC, and two signatures.
    expect([verify.mock.calls.length, ask.mock.calls.length]).toEqual([3, 1]);
  });

  it("a ticket for the feed asks no object", async () => {
    const { address } = await failing(noKid);
    const ask = vi.spyOn(env.INDEX, "getByName");
    expect(await reasonOf(await madeUpTicket(address))).toEqual([429, "rate-limited"]);
    expect(ask).not.toHaveBeenCalled();
    expect(await reasonOf(await madeUpTicket(`192.0.2.${++addresses}`))).toEqual([403, "forbidden"]);
    expect(ask).toHaveBeenCalledTimes(1);
  });
});

/** Returns a machine whose requests all have one ticket, while the clock stands still. */
async function chatty(name: string) {
  const machine = await enrolled(name);
  const body = reportBody(name);
  const post = async (n: number, ticket = machine.ticket) => {
    const headers = await reportHeaders(machine, body, { ticket, n });
    return exports.default.fetch(
      new Request(`${ORIGIN}/v1/nodes/${name}/report`, { method: "POST", headers, body }),
    );
  };
  return { post, later: (ms: number) => shift(ms) };
}

describe("a machine with too many requests", () => {
  it("at the limit → answered; just over → 429, nothing written; soon after → answered", async () => {
    const { post, later } = await chatty("limit-chatty");
    let n = 0;
    while (n < LIMIT.atOnce) expect((await post(++n)).status).toBe(200);
    await requestsAbout("limit-chatty");
    const refused = await post(++n);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await reasonOf(refused)).toEqual([429, "rate-limited"]);
    expect(await reasonOf(await post(n))).toEqual([429, "rate-limited"]);
    expect(await requestsAbout("limit-chatty")).toEqual([]);
    later(LIMIT.everyMs);
    expect((await post(++n)).status).toBe(200);
    expect((await post(++n)).status).toBe(429);
  });

  it("whose requests were recorded and are replayed → still has its own budget", async () => {
    const { post } = await chatty("limit-replayed");
    for (let replays = 0; replays <= LIMIT.atOnce; replays++) {
      expect((await post(1, "an old ticket")).status).toBe(409);
    }
    expect((await post(1)).status).toBe(200);
  });
});

describe("traffic of one machine → the answered part", () => {
  const every = (periodMs: number, forMs: number) =>
    Array.from({ length: forMs / periodMs }, (_, index) => index * periodMs);
  const minutes = (count: number) => count * 60_000;
  it.each<[string, leaseSeconds: number, number[], "all" | number]>([
    [
      "a report a second, and five changes of Ready a minute",
      40,
      [...every(1000, minutes(10)), ...every(12_000, minutes(1))],
      "all",
    ],
    [
      "a service that ends at once, and is started every 10 s, with a retry",
      40,
      [...every(10_000, minutes(30)), ...every(10_000, minutes(30))],
      "all",
    ],
    ["the shortest interval that a lease asks for", 1, every(250, minutes(10)), "all"],
    ["as many at once as it may", 40, Array.from({ length: LIMIT.atOnce }, () => 0), "all"],
    ["ten a second for a minute", 40, every(100, minutes(1)), LIMIT.atOnce + 60],
    [
      "a hundred a second for a minute, with the shortest lease",
      1,
      every(10, minutes(1)),
      LIMIT.atOnce + 8 * 60,
    ],
  ])("%s", (_, leaseSeconds, timesMs, expected) => {
    const mayAsk = requestRate(() => requestLimit(leaseSeconds * 1000));
    const times = timesMs.toSorted((a, b) => a - b);
    const answered = times.filter((atMs) => mayAsk(atMs));
    if (expected === "all") expect(answered).toEqual(times);
    else expect(Math.abs(answered.length - expected)).toBeLessThan(2);
    // Only answered reports renew the machine's lease, so the gaps between them must be short.
    const gaps = (all: number[]) => all.slice(1).map((atMs, index) => atMs - all[index]!);
    expect(Math.max(...gaps(answered))).toBeLessThanOrEqual(Math.max(1000, ...gaps(times)));
  });
});
