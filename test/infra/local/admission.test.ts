// Tests the local Worker's admission: a crowd of machines must not delay the answers to machines that have begun.
import { expect, it, test } from "vitest";
import { Admission, ADMISSION, admitReports } from "../../../infra/local/admission.ts";

const { enrolments, busyMs, whileBusy } = ADMISSION;
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
  return { state, send, ask: () => admitting.ask(never), admitting };
}

const turns = async () => {
  for (let n = 0; n < 20; n++) await Promise.resolve();
};

test.each([
  ["an enrolment", ENROLMENT, busyMs, enrolments],
  ["an enrolment, busy thread", ENROLMENT, busyMs + 1, whileBusy.enrolment],
  ["a report", REPORT, busyMs, null],
  ["a report, busy thread", REPORT, busyMs + 1, whileBusy.other],
  ["a socket", SOCKET, busyMs, null],
  ["a socket, busy thread", SOCKET, busyMs + 1, whileBusy.other],
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
  [ADMISSION.asking - 1, 200],
  [ADMISSION.asking, 503],
])(
  "%d requests to the apiserver, as of machines on sockets, busy thread → an enrolment: %d",
  async (asking, status) => {
    const { state, send, ask } = admission(busyMs + 1);
    for (let n = 0; n < asking; n++) void ask();
    expect((await send(ENROLMENT, () => new Response("{}"))).status).toBe(status);
    expect((await send(REPORT, () => new Response("{}"))).status).toBe(200);
    state.lagMs = busyMs;
    expect((await send(ENROLMENT, () => new Response("{}"))).status).toBe(200);
  },
);

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
