// Tests the machine's side of the protocol against a Worker with scripted answers: the posted requests, and their
// results.
import { decodeJwt, decodeProtectedHeader } from "jose";
import { beforeAll, describe, expect, it, test } from "vitest";
import { reporter, type ReportOutcome } from "../../../node-shim/worker-link/reporter.ts";
import { withoutUnknown } from "../../../node-shim/worker-link/unknown-facts.ts";
import { withinSize } from "../../../node-shim/machine/fit.ts";
import { enrol } from "../../../node-shim/worker-link/requests.ts";
import { type TransportRequest, type TransportResponse } from "../../../node-shim/worker-link/exchange.ts";
import { sha256Base64url } from "../../../node-shim/worker-link/sign.ts";
import { type MachineKey, makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Report, Vitals } from "../../../shared/protocol/report.ts";
import { canonicalJson } from "../../../shared/protocol/digest.ts";
import { success } from "../../../shared/result.ts";
import type { ReportClaims } from "../../../shared/protocol/claims.ts";

const ORIGIN = "https://rollcall.example.com";
const FACTS = { platform: { os: "linux", architecture: "amd64" } } as Facts;
const OTHER_FACTS = { platform: { os: "linux", architecture: "arm64" } } as Facts;
const VITALS: Vitals = { signals: {} };
const SOCKET = {};
let key: MachineKey;
beforeAll(async () => {
  key = await makeMachineKey();
});

/** An answer, or an error if no answer comes. */
type Scripted = TransportResponse | Error;
const json = (status: number, body: unknown): Scripted => ({ status, body: JSON.stringify(body) });
const ok = (ticket: string): Scripted =>
  json(200, { phase: "registered", ready: true, ticket, reportInMs: 9600 });
const stale = (ticket: string, factsWanted = false): Scripted =>
  json(409, { status: 409, title: "", detail: "", reason: "ticket-stale", ticket, factsWanted });
const factsUnknown = (ticket: string): Scripted =>
  json(412, { status: 412, title: "", detail: "", reason: "facts-unknown", ticket });
const lost = new Error("socket hang up");

/**
 * Makes a reporter whose requests get these answers, in this order. `posted` has the requests as `ticket/n`, with
 * `+facts` if they had facts.
 */
function scripted(...answers: (Scripted | ((request: TransportRequest) => Scripted))[]) {
  const clock = { nowMs: 0 };
  const requests: TransportRequest[] = [];
  const posted: string[] = [];
  const report = reporter({
    name: "edge-1",
    origin: ORIGIN,
    key,
    kid: "1.thumbprint.enrolment.mac",
    startId: "start",
    machineTime: () => "2026-01-01T00:00:00.000Z",
    smaller: (facts, vitals, mostBytes) => withinSize({ facts, vitals }, mostBytes).facts,
    nowMs: () => clock.nowMs,
    send: async (request) => {
      requests.push(request);
      const { ticket, n } = claimsOf(request);
      posted.push(`${ticket}/${n}${bodyOf(request).facts === undefined ? "" : "+facts"}`);
      const answer = answers.shift();
      if (answer === undefined) throw new Error("one request too many");
      const given = typeof answer === "function" ? answer(request) : answer;
      if (given instanceof Error) throw given;
      return given;
    },
  });
  return { report, requests, posted, clock };
}
const jwtOf = ({ headers }: TransportRequest) => (headers["authorization"] ?? "").replace("Bearer ", "");
const claimsOf = (request: TransportRequest) => decodeJwt<ReportClaims>(jwtOf(request));
const bodyOf = ({ body }: TransportRequest) => JSON.parse(body) as Report;

test("a report's request: path, signature's header and claims, body, digest", async () => {
  const { report, requests } = scripted(ok("a"));
  await report(FACTS, VITALS);
  const [request] = requests as [TransportRequest];
  const headers = { "content-type": "application/json" };
  expect(request).toMatchObject({ method: "POST", path: "/v1/nodes/edge-1/report", headers });
  expect(decodeProtectedHeader(jwtOf(request))).toEqual({
    alg: "EdDSA",
    typ: "rollcall-report+jwt",
    kid: "1.thumbprint.enrolment.mac",
  });
  expect(claimsOf(request)).toEqual({
    sub: "edge-1",
    aud: ORIGIN,
    body: sha256Base64url(request.body),
    ticket: "",
    n: 1,
  });
  expect(bodyOf(request)).toEqual({
    protocol: 1,
    startId: "start",
    machineTime: "2026-01-01T00:00:00.000Z",
    vitals: VITALS,
    factsDigest: sha256Base64url(canonicalJson(FACTS)),
    facts: FACTS,
  });
});

describe("tickets and facts: the posted requests of a sequence of reports", () => {
  test.each<[situation: string, answers: Scripted[], reports: Facts[], posted: string[]]>([
    [
      "facts travel once; each answer's ticket signs the next report",
      [ok("a"), ok("b"), ok("c")],
      [FACTS, FACTS, FACTS],
      ["/1+facts", "a/1", "b/1"],
    ],
    [
      "the same ticket again → n increases",
      [ok("a"), ok("a"), ok("a")],
      [FACTS, FACTS, FACTS],
      ["/1+facts", "a/1", "a/2"],
    ],
    [
      "other facts → they are sent once",
      [ok("a"), ok("b"), ok("c")],
      [FACTS, OTHER_FACTS, OTHER_FACTS],
      ["/1+facts", "a/1+facts", "b/1"],
    ],
    [
      "an answer is lost → the same ticket with the next n, and facts again: they may not have arrived",
      [ok("a"), lost, ok("b"), ok("c")],
      [FACTS, OTHER_FACTS, OTHER_FACTS, OTHER_FACTS],
      ["/1+facts", "a/1+facts", "a/2+facts", "b/1"],
    ],
    [
      "a cold object (409) → repeated at once with its ticket, and facts only if it requests them",
      [ok("a"), stale("b"), ok("c")],
      [FACTS, FACTS],
      ["/1+facts", "a/1", "b/1"],
    ],
    [
      "409 that requests facts → the repetition contains them",
      [ok("a"), stale("b", true), ok("c"), ok("d")],
      [FACTS, FACTS, FACTS],
      ["/1+facts", "a/1", "b/1+facts", "c/1"],
    ],
    [
      "412 → repeated at once with facts",
      [ok("a"), factsUnknown("b"), ok("c")],
      [FACTS, FACTS],
      ["/1+facts", "a/1", "b/1+facts"],
    ],
    [
      "409, then 412 → two repetitions",
      [ok("a"), stale("b"), factsUnknown("c"), ok("d")],
      [FACTS, FACTS],
      ["/1+facts", "a/1", "b/1", "c/1+facts"],
    ],
    [
      "an answer of another server in between → ticket and n continue",
      [ok("a"), { status: 502, body: "<html>" }, ok("b")],
      [FACTS, FACTS, FACTS],
      ["/1+facts", "a/1", "a/2"],
    ],
    [
      "a refusal without a ticket → the last ticket continues",
      [ok("a"), json(401, { reason: "unauthenticated", title: "", detail: "" }), ok("b")],
      [FACTS, FACTS, FACTS],
      ["/1+facts", "a/1", "a/2"],
    ],
  ])("%s", async (_situation, answers, reports, posted) => {
    const worker = scripted(...answers);
    for (const facts of reports) await worker.report(facts, VITALS);
    expect(worker.posted).toEqual(posted);
  });

  it("challenged a third time in a row → returned to the caller; the next report uses the new ticket", async () => {
    const { report, posted } = scripted(stale("a"), stale("b"), stale("c"), ok("d"));
    expect(await report(FACTS, VITALS)).toMatchObject({
      ok: false,
      error: { reason: "refused", problem: { reason: "ticket-stale" } },
    });
    expect(posted).toEqual(["/1+facts", "a/1+facts", "b/1+facts"]);
    expect((await report(FACTS, VITALS)).ok).toBe(true);
    expect(posted.at(-1)).toBe("c/1+facts");
  });
});

describe("a Worker of an earlier version, which names one field that it does not know", () => {
  const NEWER = {
    ...FACTS,
    runningInUserNamespace: false,
    runtimeHandlers: [
      { name: "a", later: 1 },
      { name: "b", later: 2 },
    ],
  } as unknown as Facts;
  const unknown = (path: string, message = "unknown field") =>
    json(200, {
      phase: "facts refused",
      ready: false,
      ticket: "t",
      reportInMs: 9600,
      factsRefused: { path, message },
    });
  const HANDLERS = [{ name: "a" }, { name: "b" }];
  const bare = { ...FACTS, runtimeHandlers: HANDLERS };

  it.each<[situation: string, answers: Scripted[], sent: unknown[]]>([
    [
      "the facts follow at once without it, and with their own digest",
      [unknown("/facts/runningInUserNamespace"), ok("b")],
      [NEWER, { ...NEWER, runningInUserNamespace: undefined }],
    ],
    [
      "a field in a list → left out of each entry",
      [unknown("/facts/runtimeHandlers/0/later"), unknown("/facts/runningInUserNamespace"), ok("c")],
      [NEWER, { ...NEWER, runtimeHandlers: HANDLERS }, bare],
    ],
    ["the same field again → not repeated", [unknown("/facts/x"), unknown("/facts/x")], [NEWER, NEWER]],
    ["a field that is there no more", [unknown("/facts/__proto__/x"), ok("b")], [NEWER, NEWER]],
    ["another fault of the facts → not repeated", [unknown("/facts/x", "invalid")], [NEWER]],
    ["a path elsewhere → not repeated", [unknown("/vitals/x")], [NEWER]],
  ])("%s", async (_, answers, sent) => {
    const { report, requests } = scripted(...answers);
    expect((await report(NEWER, VITALS)).ok).toBe(true);
    const expected = sent.map((facts) => JSON.parse(JSON.stringify(facts)) as unknown);
    const digested = expected.map((facts) => sha256Base64url(canonicalJson(facts)));
    const bodies = requests.map(bodyOf);
    // Facts with a known digest are not sent again.
    expect(bodies.map(({ factsDigest }) => factsDigest)).toEqual(digested);
    expect(bodies.map(({ facts }, at) => facts ?? expected[at])).toEqual(expected);
  });

  it("more than two such fields → two repetitions at once, the next one with the next report", async () => {
    const [one, two, three] = ["a", "b", "c"].map((name) => unknown(`/facts/${name}`));
    const { report, requests } = scripted(one!, two!, three!, ok("d"));
    const facts = { ...FACTS, a: 1, b: 2, c: 3 } as unknown as Facts;
    await report(facts, VITALS);
    expect(requests).toHaveLength(3);
    await report(facts, VITALS);
    expect(bodyOf(requests[3]!).facts).toEqual(FACTS);
  });

  it("after six hours the field is sent again: the Worker may be a later one", async () => {
    const { report, requests, clock } = scripted(unknown("/facts/runningInUserNamespace"), ok("b"), ok("c"));
    await report(NEWER, VITALS);
    clock.nowMs += 6 * 3_600_000;
    await report(NEWER, VITALS);
    expect(bodyOf(requests.at(-1)!).facts).toEqual(NEWER);
  });

  it.each<[situation: string, before: object | null, after: object | null, isSent: boolean]>([
    ["a socket opens", null, {}, true],
    ["another socket has opened", {}, {}, true],
    ["the socket has closed", {}, null, false],
    ["still no socket", null, null, false],
    ["the same socket", SOCKET, SOCKET, false],
  ])("%s → the field is sent again: %s, %s, %s", async (_, before, after, isSent) => {
    let socket = before;
    const sent: unknown[] = [];
    const path = "/facts/runningInUserNamespace";
    const refused = { phase: "facts refused", factsRefused: { path, message: "unknown field" } };
    const report = withoutUnknown(
      (facts) => Promise.resolve(success(sent.push(facts) === 1 ? refused : {}) as ReportOutcome),
      () => 0,
      { socket: () => socket },
    );
    await report(NEWER, VITALS);
    socket = after;
    await report(NEWER, VITALS);
    expect(sent.slice(1).map((facts) => Object.hasOwn(facts as Facts, "runningInUserNamespace"))).toEqual([
      false,
      isSent,
    ]);
  });
});

describe("answers → outcomes", () => {
  const unusable = (what: string) => ({
    ok: false,
    error: { reason: "failed", message: `${what}: is this a rollcall Worker?` },
  });
  const answer = { phase: "registered", ready: true, ticket: "t", reportInMs: 9600 };

  test.each<[situation: string, answer: Scripted, outcome: object]>([
    ["200", json(200, answer), { ok: true, value: answer }],
    ["no answer", lost, { ok: false, error: { reason: "failed", message: "socket hang up" } }],
    ["200 that is a page", { status: 200, body: "<html>" }, unusable("HTTP 200 without JSON")],
    ["200 without a body", { status: 200, body: "" }, unusable("HTTP 200 without JSON")],
    ["200 of null", json(200, null), unusable("an answer of another kind")],
    [
      "200 without when to report next",
      json(200, { ...answer, reportInMs: undefined }),
      unusable("an answer of another kind"),
    ],
    ["an hour until the next report", json(200, { ...answer, reportInMs: 3_600_000 }), { ok: true }],
    [
      "more than an hour",
      json(200, { ...answer, reportInMs: 3_600_001 }),
      unusable("an answer of another kind"),
    ],
    ["a negative wait", json(200, { ...answer, reportInMs: -1 }), unusable("an answer of another kind")],
    ["200 without a ticket", json(200, { ...answer, ticket: 7 }), unusable("an answer of another kind")],
    ["a redirect", { status: 301, body: "" }, unusable("HTTP 301 without JSON")],
    ["500 of null", json(500, null), unusable("HTTP 500 without a reason")],
    [
      "429 with Retry-After",
      { status: 429, body: "slow down", retryAfterMs: 7000 },
      { error: { ...unusable("HTTP 429 without JSON").error, retryAfterMs: 7000 } },
    ],
    [
      "a problem with Retry-After",
      { status: 500, body: '{"reason":"internal"}', retryAfterMs: 7000 },
      {
        ok: false,
        error: { reason: "refused", problem: { reason: "internal", status: 500 }, retryAfterMs: 7000 },
      },
    ],
    [
      "a problem whose own status differs → HTTP's counts",
      json(401, { reason: "unauthenticated", status: 200 }),
      { ok: false, error: { reason: "refused", problem: { status: 401 } } },
    ],
  ])("%s", async (_situation, scriptedAnswer, outcome) => {
    expect(await scripted(scriptedAnswer).report(FACTS, VITALS)).toMatchObject(outcome);
  });
});

describe("enrolment", () => {
  const SEED = "A".repeat(43);
  const enrolling = {
    name: "edge-1",
    origin: ORIGIN,
    joinToken: `rcj1_${SEED}\n`,
    machineID: "machine",
    systemUUID: "system",
  };

  it("PUT, signed by both keys over name, origin, method, path and thumbprint; the token is not sent", async () => {
    const requests: TransportRequest[] = [];
    const outcome = await enrol(
      async (request) => {
        requests.push(request);
        return { status: 200, body: '{"kid":"k","ticket":"t"}' };
      },
      key,
      enrolling,
    );
    expect(outcome).toEqual({ ok: true, value: { kid: "k", ticket: "t" } });
    const [request] = requests as [TransportRequest];
    const headers = { "content-type": "application/json" };
    expect(request).toMatchObject({ method: "PUT", path: "/v1/nodes/edge-1/enrolment", headers });
    const { proof, binding } = JSON.parse(request.body) as { proof: string; binding: string };
    const vouched = {
      sub: "edge-1",
      aud: ORIGIN,
      method: "PUT",
      path: "/v1/nodes/edge-1/enrolment",
      jkt: key.thumbprint,
      challenge: "",
    };
    expect(decodeJwt(proof)).toEqual({ ...vouched, machineID: "machine", systemUUID: "system" });
    expect(decodeJwt(binding)).toEqual(vouched);
    expect(decodeProtectedHeader(proof)).toEqual({
      alg: "EdDSA",
      typ: "rollcall-enrol+jwt",
      jwk: key.publicJwk,
    });
    expect(JSON.stringify(request)).not.toContain(SEED);
    expect(JSON.stringify(request)).not.toContain(key.jwk.d);
  });

  const challenge = (text: string | undefined): Scripted =>
    json(409, { status: 409, title: "", detail: "", reason: "challenge-stale", challenge: text });
  const enrolled = json(200, { kid: "k", ticket: "t" });

  test.each<[string, Scripted[], [challenges: string[], isEnrolled: boolean]]>([
    ["a challenge → signs it", [challenge("one"), enrolled], [["", "one"], true]],
    [
      "a second challenge, since the first signature came late → signs that",
      [challenge("one"), challenge("two"), enrolled],
      [["", "one", "two"], true],
    ],
    [
      "a third challenge in a row → returned to the caller",
      [challenge("one"), challenge("two"), challenge("three")],
      [["", "one", "two"], false],
    ],
    [
      "no challenge in it → requests one",
      [challenge(undefined), challenge("one"), enrolled],
      [["", "", "one"], true],
    ],
    ["a report's challenge → handed back", [stale("ticket")], [[""], false]],
    ["no answer → returned to the caller", [challenge("one"), lost], [["", "one"], false]],
  ])("answered with %s, with both keys", async (_, answers, expected) => {
    const signed: unknown[][] = [];
    const send = async ({ body }: TransportRequest) => {
      const { proof, binding } = JSON.parse(body) as { proof: string; binding: string };
      signed.push([decodeJwt(proof)["challenge"], decodeJwt(binding)["challenge"]]);
      const answer = answers.shift()!;
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const { ok: isEnrolled } = await enrol(send, key, enrolling);
    const [challenges] = expected;
    expect([signed, isEnrolled]).toEqual([challenges.map((each) => [each, each]), expected[1]]);
  });

  it("a text that is no join token → the format of one, and no request is sent", async () => {
    const send = () => Promise.reject(new Error("sent"));
    await expect(enrol(send, key, { ...enrolling, joinToken: "secret-1" })).rejects.toThrow(
      "this is not a join token: it must read rcj1_ and 43 more characters",
    );
  });

  test.each(["{}", '{"kid":""}', '{"kid":7}', "null"])("200 of %s → no enrolment", async (body) => {
    expect(await enrol(async () => ({ status: 200, body }), key, enrolling)).toMatchObject({
      ok: false,
      error: { reason: "failed" },
    });
  });
});

describe("the time without an answer", () => {
  const failing = json(500, { status: 500, title: "", detail: "", reason: "internal" });
  const limited = json(429, { status: 429, title: "", detail: "", reason: "rate-limited" });
  const away = json(502, "<html>");
  /** Each answer belongs to one report. The reports are `apartSeconds` apart. */
  test.each<[situation: string, answers: Scripted[], apartSeconds: number, told: (number | undefined)[]]>([
    ["no answer was missing", [ok("a"), ok("b")], 60, [undefined, undefined]],
    ["a request was lost", [ok("a"), lost, ok("b")], 9.9, [undefined, undefined, undefined]],
    ["for ten seconds, then reported once", [lost, ok("a"), ok("b")], 10, [undefined, 10, undefined]],
    ["from the first request without one", [lost, lost, lost, ok("a")], 20, [undefined, 20, 40, 60]],
    ["the Worker fails", [failing, away, ok("a")], 20, [undefined, 20, 40]],
    ["a refusal is an answer", [limited, ok("a")], 20, [undefined, undefined]],
    [
      "a refusal does not end the time",
      [lost, limited, ok("a"), ok("b")],
      20,
      [undefined, 20, 40, undefined],
    ],
    [
      "nor does a challenge, whose repetition reports it as well",
      [lost, stale("a"), ok("b")],
      20,
      [undefined, 20, 20],
    ],
    ["for longer than a year", [lost, ok("a")], 40_000_000, [undefined, 31_536_000]],
  ])("%s", async (_, answers, apartSeconds, told) => {
    const reports = answers.filter(
      (answer) => answer instanceof Error || !answer.body.includes("stale"),
    ).length;
    const { report, requests, clock } = scripted(...answers);
    for (let sent = 0; sent < reports; sent++) {
      await report(FACTS, VITALS);
      clock.nowMs += 1000 * apartSeconds;
    }
    expect(requests.map((request) => bodyOf(request).noAnswerSeconds)).toEqual(told);
  });
});

describe("a proxy that refuses large bodies (413)", () => {
  const image = (name: string) => ({ repoDigests: [], repoTags: [name.repeat(200)], sizeBytes: 1 });
  const LARGE = { ...FACTS, images: Array.from({ length: 200 }, () => image("i")) } as Facts;
  /** Answers as a proxy with this limit, before a Worker with one answer to everything. */
  const behind = (mostBytes: number, html = "<h1>413 Request Entity Too Large</h1>", worker = ok("t")) =>
    Array.from(
      { length: 12 },
      () =>
        ({ body }: TransportRequest): Scripted =>
          Buffer.byteLength(body) > mostBytes ? { status: 413, body: html } : worker,
    );
  const imagesIn = (request: TransportRequest | undefined) =>
    request && (bodyOf(request).facts as Facts | undefined);

  test.each([
    ["HTML", "<h1>413 Request Entity Too Large</h1>"],
    ["JSON without a reason", '{"message":"Request Too Long"}'],
  ])(
    "in %s → images are cut until the report is accepted, and the next report is small at once",
    async (_, text) => {
      const { report, requests } = scripted(...behind(16_384, text));
      expect((await report(LARGE, VITALS)).ok).toBe(true);
      const accepted = imagesIn(requests.at(-1))?.images?.length ?? 0;
      expect([accepted > 20, accepted < 100, requests.length]).toEqual([true, true, 3]);
      expect((await report({ ...LARGE, ...OTHER_FACTS }, VITALS)).ok).toBe(true);
      expect(requests).toHaveLength(4);
    },
  );

  it("accepts no facts at all, and the Worker knows earlier ones → vitals go alone", async () => {
    const { report, requests } = scripted(ok("t"), ...behind(500));
    await report(FACTS, VITALS);
    const { digest, outcome } = await report({ ...LARGE, attachLimits: {} }, VITALS).then((outcome) => ({
      outcome,
      digest: bodyOf(requests.at(-1) as TransportRequest).factsDigest,
    }));
    expect([outcome.ok, digest]).toEqual([true, sha256Base64url(canonicalJson(FACTS))]);
    expect(imagesIn(requests.at(-1))).toBeUndefined();
  });

  it("accepts no facts at all, and the Worker has forgotten the earlier ones → vitals alone, until it is refused", async () => {
    const { report, posted } = scripted(ok("t"), ...behind(500, "", factsUnknown("t")));
    await report(FACTS, VITALS);
    expect(await report({ ...LARGE, attachLimits: {} }, VITALS)).toMatchObject({
      error: { problem: { reason: "facts-unknown" } },
    });
    expect(posted.slice(-3).filter((each) => each.endsWith("+facts"))).toEqual([]);
  });

  it("accepts no facts at all, and the Worker knows none → too large, and the text names the proxy", async () => {
    const { report } = scripted(...behind(100));
    expect(await report(FACTS, VITALS)).toMatchObject({
      ok: false,
      error: {
        problem: { status: 413, reason: "body-too-large", title: expect.stringContaining("A proxy") },
      },
    });
  });
});
