// Tests the local Worker's admission: a crowd of machines must not delay the answers to machines that have begun.
import { expect, it, test } from "vitest";
import { Admission, ADMISSION, admitReports } from "../../../infra/local/admission.ts";

const { enrolments, busyMs, whileBusy, slowMs, whileSlow, settling, settlingMs } = ADMISSION;
const ENROLMENT = { method: "PUT", path: "/v1/nodes/edge-1/enrolment" };
const REPORT = { method: "POST", path: "/v1/nodes/edge-1/report" };
const SOCKET = { method: "GET", path: "/v1/gateways/1/nodes/edge-1?t=x" };
const LIST = { method: "GET", path: "/v1/machines" };

/** A Worker that never answers, in a thread where each request waits for `lagMs`. */
function admission(lagMs: number) {
  const state = { nowMs: 1_000_000, lagMs, begun: 0 };
  const admitting = new Admission(
    () => state.nowMs,
    () => {
      state.nowMs += state.lagMs;
      return Promise.resolve();
    },
  );
  const never = () => {
    state.begun++;
    return new Promise<Response>(() => undefined);
  };
  const send = ({ method, path }: typeof REPORT, answer: () => Response | Promise<Response> = never) =>
    admitting.pass(new Request(`http://worker${path}`, { method }), answer);
  /** The machines of these names enrol, each before the next one. */
  const enrol = async (names: readonly string[]) => {
    const statuses: number[] = [];
    for (const name of names) {
      const path = `/v1/nodes/${name}/enrolment`;
      statuses.push((await send({ ...ENROLMENT, path }, () => new Response("{}"))).status);
    }
    return statuses;
  };
  /** The apiserver answers this number of requests after `answerMs` each. */
  const ask = async (count: number, answerMs: number, answered = () => Promise.resolve(new Response())) => {
    for (let n = 0; n < count; n++)
      await admitting
        .ask(() => {
          state.nowMs += answerMs;
          return answered();
        })
        .catch(() => undefined);
  };
  return { state, send, enrol, ask, admitting };
}

const machines = (count: number, prefix = "edge") =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
/** The statuses of as many enrolments as are admitted, and of one more. */
const admitted = (count: number) => [...Array<number>(count).fill(200), 503];

const turns = async () => {
  for (let n = 0; n < 20; n++) await Promise.resolve();
};

test.each([
  ["an enrolment", ENROLMENT, busyMs, enrolments],
  ["an enrolment, busy thread", ENROLMENT, busyMs + 1, whileBusy.enrolment],
  ["a report", REPORT, busyMs, null],
  ["a report, busy thread", REPORT, busyMs + 1, whileBusy.report],
  ["a socket", SOCKET, busyMs, null],
  ["a socket, busy thread", SOCKET, busyMs + 1, whileBusy.socket],
  ["an operator's request, busy thread", LIST, busyMs + 1, null],
])("%s: begins until the limit, and is refused just over it", async (_, request, lagMs, limit) => {
  const { state, send } = admission(lagMs);
  const count = limit ?? 200;
  for (let n = 0; n < count; n++) {
    void send(request);
    await turns();
    // The requests begin within the time that their machines wait.
    state.nowMs = 1_000_000;
  }
  expect(state.begun).toBe(count);
  if (limit === null) return;
  const refused = await send(request);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({ reason: "busy", status: 503 });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
});

it("a report begins while enrolments have their limit: a Node's lease goes first", async () => {
  const { state, send } = admission(busyMs + 1);
  for (let n = 0; n < whileBusy.enrolment; n++) void send(ENROLMENT);
  await turns();
  state.nowMs = 1_000_000;
  void send(REPORT);
  await turns();
  expect(state.begun).toBe(whileBusy.enrolment + 1);
});

it("requests that workerd never finishes → count as ended once their machines have given up", async () => {
  const { state, send } = admission(0);
  for (let n = 0; n < enrolments; n++) void send(ENROLMENT);
  await turns();
  state.nowMs += 8999;
  expect((await send(ENROLMENT)).status).toBe(503);
  state.nowMs += 1;
  expect((await send(ENROLMENT, () => new Response("{}"))).status).toBe(200);
});

it("a crowd is refused → its next attempts come 25 ms apart", async () => {
  const { send } = admission(0);
  for (let n = 0; n < enrolments; n++) void send(ENROLMENT);
  await turns();
  const refused = await Promise.all(Array.from({ length: 401 }, () => send(ENROLMENT)));
  const seconds = refused.map(({ headers }) => Number(headers.get("retry-after")));
  expect([seconds[0], seconds.at(-1)]).toEqual([1, 11]);
});

it.each([
  ["a fast apiserver", 1000, slowMs, settling],
  ["a slow apiserver", 1000, slowMs + 50, whileSlow.settling],
  ["a single slow answer", 1, 40 * slowMs, settling],
])("%s → enrolments until this number of machines have no socket yet", async (_, count, answerMs, limit) => {
  const { enrol, ask } = admission(0);
  await ask(count, answerMs);
  expect(await enrol(machines(limit + 1))).toEqual(admitted(limit));
});

it("an apiserver without answers is slow, and fast again after fast answers", async () => {
  const { enrol, ask } = admission(0);
  await ask(100, 3000, () => Promise.reject(new Error("no answer in time")));
  expect(await enrol(machines(whileSlow.settling + 1))).toEqual(admitted(whileSlow.settling));
  await ask(200, 10);
  expect(await enrol(machines(settling - whileSlow.settling + 1, "shop"))).toEqual(
    admitted(settling - whileSlow.settling),
  );
});

it("machines open sockets, or take too long → others may enrol; a refused socket does not count", async () => {
  const { state, enrol, send } = admission(0);
  await enrol(machines(settling));
  const connect = (name: string, answer: object) =>
    send({ ...SOCKET, path: `/v1/gateways/1/nodes/${name}?t=x` }, () => answer as Response);
  await connect("edge-0", new Response(null, { status: 404 }));
  expect(await enrol(["shop-1"])).toEqual([503]);
  await connect("edge-0", { status: 101 });
  expect(await enrol(["shop-1", "shop-2"])).toEqual([200, 503]);
  state.nowMs += settlingMs - 1;
  expect(await enrol(["shop-2"])).toEqual([503]);
  state.nowMs += 1;
  expect(await enrol(["shop-2"])).toEqual([200]);
});

it("reports over sockets, busy thread → those above the limit are too late for any work", async () => {
  const { state, admitting } = admission(busyMs + 1);
  const asked: unknown[] = [];
  class Objects {
    reportBySocket(report: { request: { untilMs?: number } }): Promise<unknown> {
      asked.push(report.request.untilMs);
      return new Promise(() => undefined);
    }
  }
  admitReports(Objects, admitting);
  const object = new Objects();
  const report = { request: { untilMs: 5 } };
  for (let n = 0; n <= whileBusy.bySocket; n++) {
    void object.reportBySocket(report);
    await turns();
    state.nowMs = 1_000_000;
  }
  expect(asked).toEqual([...Array<number>(whileBusy.bySocket).fill(5), 0]);
  state.lagMs = busyMs;
  void object.reportBySocket(report);
  await turns();
  expect(asked.at(-1)).toBe(5);
});
