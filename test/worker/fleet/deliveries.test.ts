// Tests deliveries to receivers that fail, hang, redirect, send Retry-After, and recover, also through evictions.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NOTIFICATION_LIMITS } from "../../../shared/protocol/limits.ts";
import { MESSAGE_FORMATS, receiverChangeSchema } from "../../../shared/protocol/receiver-api.ts";
import { waitMs } from "../../../worker/fleet/receivers.ts";
import { FLEET_START_MS, machineName } from "../support/made-up-fleet.ts";
import { alertsOf, type Behaviour, type NotifiedFleet, withFleet } from "../support/notified-fleet.ts";
import { outlasting } from "../support/clock.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const [ONE, TWO] = [machineName(1), machineName(2)];

/** Adds a receiver without a delay, and makes one machine silent. */
async function oneSilent(fleet: NotifiedFleet, how: Behaviour): Promise<void> {
  await fleet.add({ delaySeconds: 0 });
  fleet.behaviour["ops"] = how;
  fleet.goes(1, "silent");
  await fleet.pass(0);
}

const tested = (fleet: NotifiedFleet) => fleet.notifications().test("ops", "alice");

async function alerted(fleet: NotifiedFleet): Promise<void> {
  fleet.goes(1, "silent");
  await fleet.pass(0);
}

describe("a delivery", () => {
  it.each<[string, Behaviour, string]>([
    ["fails", 500, "HTTP 500: an answer"],
    ["has no such path", 404, "HTTP 404: an answer"],
    [
      "redirects",
      () => new Response(null, { status: 302, headers: { location: "https://example.com/" } }),
      "HTTP 302: ",
    ],
    ["is not there", "unreachable", "Error: connection refused"],
    ["hangs", "hangs", "no answer within 0.02 s"],
  ])(
    "to a receiver that %s → again after 30 s, a minute, two, with the same ID, until it is back",
    (_, how, error) =>
      withFleet(async (fleet) => {
        await oneSilent(fleet, how);
        await fleet.pass(4 * MINUTE);
        expect(fleet.notifications().list()).toMatchObject([
          { waiting: 1, error, failingSince: expect.any(String) as string },
        ]);
        fleet.evict();
        fleet.behaviour["ops"] = 202;
        await fleet.pass(10 * MINUTE);
        expect(fleet.deliveries.map(({ atMs }) => atMs / SECOND)).toEqual([0, 30, 90, 210, 450]);
        expect(new Set(fleet.deliveries.map(({ messageId, body }) => messageId + body)).size).toBe(1);
        expect(fleet.delivered()).toEqual([`firing ${ONE} silent`]);
        expect(fleet.notifications().list()).toMatchObject([
          { waiting: 0, error: "", failingSince: null, nextAttemptAt: null },
        ]);
      }),
  );

  it.each([
    ["in seconds", "300", 300],
    ["as a date", new Date(Date.UTC(2026, 0, 1, 0, 10)).toUTCString(), 600],
    ["shorter than its own time", "1", 30],
    ["as nonsense", "soon", 30],
    ["as nonsense with a number behind", "in 300", 30],
    ["as nonsense with a number before", "300 s", 30],
  ])("that is answered 429 with a Retry-After %s → again after that", (_, retryAfter, seconds) =>
    withFleet(async (fleet) => {
      await oneSilent(
        fleet,
        () => new Response(null, { status: 429, headers: { "retry-after": retryAfter } }),
      );
      fleet.behaviour["ops"] = 200;
      await fleet.pass(HOUR);
      expect(fleet.deliveries.map(({ atMs }) => atMs / SECOND)).toEqual([0, seconds]);
    }),
  );

  it("never arrives → retried hourly, dead after a day; the deliveries behind it are dead as well", () =>
    withFleet(async (fleet) => {
      await oneSilent(fleet, 503);
      await fleet.pass(12 * HOUR);
      fleet.goes(1, "ready");
      await fleet.pass(13 * HOUR);
      const last = fleet.deliveries.at(-1)!;
      expect([last.atMs >= 23 * HOUR, last.atMs <= 25 * HOUR, fleet.deliveries.length < 40]).toEqual([
        true,
        true,
        true,
      ]);
      const { deliveries } = { deliveries: fleet.notifications().deliveries("ops")! };
      expect(
        deliveries.map(({ state, body }) => [state, ...alertsOf({ body }).map(({ status }) => status)]),
      ).toEqual([
        ["dead", "firing"],
        ["dead", "resolved"],
      ]);
      fleet.behaviour["ops"] = 200;
      await fleet.pass(2 * HOUR);
      expect([fleet.delivered(), fleet.notifications().list()]).toMatchObject([
        [],
        [{ dead: 2, waiting: 0, failingSince: null }],
      ]);
      expect(await fleet.notifications().resend("ops", deliveries[1]!.id, "alice")).toBe(true);
      expect(await fleet.notifications().resend("ops", deliveries[0]!.id, "alice")).toBe(false);
      await fleet.pass(0);
      expect(fleet.delivered()).toEqual([`firing ${ONE} silent`, `resolved ${ONE} silent`]);
    }));

  it("the receiver refuses it → dead at once, and the next one is sent", () =>
    withFleet(async (fleet) => {
      await oneSilent(fleet, 400);
      fleet.behaviour["ops"] = 200;
      fleet.goes(2, "silent");
      fleet.goes(1, "ready");
      await fleet.pass(MINUTE);
      // The firing alert of machine 1 never arrived, so the alert's resolution is not delivered.
      expect(fleet.delivered()).toEqual([`firing ${TWO} silent`]);
      expect(fleet.notifications().deliveries("ops")).toMatchObject([
        { state: "dead", error: "HTTP 400: an answer" },
        { state: "dead", error: expect.stringContaining("did not arrive") as string },
      ]);
    }));

  it("to a receiver that hangs → others do not wait for it", () =>
    withFleet(async (fleet) => {
      for (const name of ["a", "b", "c", "d", "e"]) await fleet.add({ name, delaySeconds: 0 });
      Object.assign(fleet.behaviour, { a: "hangs", b: "hangs", c: "hangs" });
      fleet.goes(1, "silent");
      await fleet.pass(0);
      fleet.goes(2, "silent");
      await fleet.pass(SECOND);
      for (const name of ["d", "e"])
        expect(fleet.delivered(name)).toEqual([`firing ${ONE} silent`, `firing ${TWO} silent`]);
    }));

  it("that cannot be signed → fails alone, and other receivers do not wait for it", () =>
    withFleet(async (fleet) => {
      for (const name of ["a", "b"]) await fleet.add({ name, delaySeconds: 0 });
      fleet.sql.exec("UPDATE receivers SET secret = '' WHERE name = 'a'");
      fleet.goes(1, "silent");
      await fleet.pass(0);
      expect(fleet.delivered("b")).toEqual([`firing ${ONE} silent`]);
      expect(fleet.notifications().list()).toMatchObject([
        { name: "a", waiting: 1, error: expect.stringContaining("length") as string },
        { name: "b", waiting: 0 },
      ]);
    }));

  it("is signed as in Standard Webhooks; a receiver's secrets are shown once", () =>
    withFleet(async (fleet) => {
      const secret = await fleet.add({ delaySeconds: 0, authorization: "Bearer of-the-receiver" });
      fleet.goes(1, "silent");
      await fleet.pass(0);
      const { headers, body, url, init } = fleet.deliveries[0]!;
      expect([url, init.method, init.redirect]).toEqual(["https://ops.example.com/in", "POST", "manual"]);
      expect(headers).toMatchObject({
        authorization: "Bearer of-the-receiver",
        "webhook-timestamp": "1767225600",
      });
      const raw = Uint8Array.from(atob(secret.slice("whsec_".length)), (each) => each.charCodeAt(0));
      expect(raw.length).toBe(32);
      const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, [
        "verify",
      ]);
      const [version, mac = ""] = headers["webhook-signature"]!.split(",");
      const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
      const signature = Uint8Array.from(atob(mac), (each) => each.charCodeAt(0));
      const isValid = await crypto.subtle.verify("HMAC", key, signature, new TextEncoder().encode(signed));
      expect([version, isValid]).toEqual(["v1", true]);
      const shown = JSON.stringify([fleet.notifications().list(), fleet.notifications().deliveries("ops")]);
      for (const hidden of [secret, "of-the-receiver", "/in"]) expect(shown).not.toContain(hidden);
      expect(fleet.notifications().list()).toMatchObject([
        { url: "https://ops.example.com/…", hasAuthorization: true },
      ]);
    }));
});

/** Returns an answer that sends the begin of its body, and then calls `then` with the body's controller. */
const beginning = (then: (controller: ReadableStreamDefaultController<Uint8Array>) => void) => () =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("it beg"));
      then(controller);
    },
  });

describe("an answer with a status, and a body that", () => {
  const stalls = beginning(() => undefined);
  const breaks = beginning((controller) => {
    queueMicrotask(() => controller.error(new Error("connection lost")));
  });
  it.each<[string, () => ReadableStream, number, number, object]>([
    ["stalls → has arrived", stalls, 200, 1, { waiting: 0, dead: 0, error: "" }],
    ["breaks off → has arrived", breaks, 206, 1, { waiting: 0, dead: 0, error: "" }],
    ["stalls, of a refusal for good → dead", stalls, 400, 1, { waiting: 0, dead: 1 }],
    ["stalls, of a failure → again", stalls, 503, 2, { waiting: 1, error: "HTTP 503: it beg" }],
  ])("%s", (_, body, status, sent, expected) =>
    withFleet(async (fleet) => {
      await oneSilent(fleet, () => new Response(body(), { status }));
      await fleet.pass(MINUTE);
      expect(fleet.deliveries).toHaveLength(sent);
      expect(fleet.notifications().list()).toMatchObject([expected]);
    }),
  );
});

it("an answer in parts → its first bytes, whose characters are whole", () =>
  withFleet(async (fleet) => {
    await fleet.add();
    const { answerBytes } = NOTIFICATION_LIMITS;
    const parts = [
      [0xc3],
      [0xa9],
      Array.from({ length: 1000 }, () => 0x78),
      Array.from({ length: 1000 }, () => 0x79),
    ];
    const body = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (const part of parts) controller.enqueue(Uint8Array.from(part));
          controller.close();
        },
      });
    fleet.behaviour["ops"] = () => new Response(body(), { status: 400 });
    const { answer } = (await tested(fleet))!;
    expect(answer).toBe(`é${"x".repeat(1000)}${"y".repeat(answerBytes - 1002)}`);
  }));

it("each of five deliveries takes half of a turn → a turn sends two, and the next ones the rest in order", () =>
  withFleet(async (fleet) => {
    await oneSilent(fleet, 503);
    for (let index = 2; index <= 5; index++) {
      fleet.goes(index, "not-ready", { address: `203.0.113.${index}` });
      await fleet.pass(SECOND);
    }
    expect(fleet.notifications().list()).toMatchObject([{ waiting: 5 }]);
    await fleet.pass(20 * SECOND);
    fleet.behaviour["ops"] = () => {
      fleet.takes(2500);
      return new Response();
    };
    const before = fleet.deliveries.length;
    fleet.takes(10 * SECOND);
    await fleet.notifications().task().run();
    expect(fleet.deliveries.length - before).toBe(2);
    await fleet.pass(MINUTE);
    expect(fleet.notifications().list()).toMatchObject([{ waiting: 0 }]);
    const names = fleet.deliveries
      .slice(before)
      .flatMap(alertsOf)
      .map(({ name }) => name);
    expect(names).toEqual([1, 2, 3, 4, 5].map(machineName));
  }));

describe("too many deliveries", () => {
  const { lettersWaiting } = NOTIFICATION_LIMITS;
  it.each([
    ["as many as may wait → a new alert waits", lettersWaiting, 1],
    ["one less → a new alert is added", lettersWaiting - 1, 2],
  ])("for one that does not answer: %s", (_, count, firing) =>
    withFleet(async (fleet) => {
      await oneSilent(fleet, 503);
      fleet.sql.exec(
        `WITH RECURSIVE number(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
         INSERT INTO letters SELECT NULL, 'ops', 'm-' || n, '{}', ?, 0, NULL, '' FROM number`,
        count,
        FLEET_START_MS,
      );
      fleet.goes(2, "silent");
      await fleet.pass(SECOND);
      expect(fleet.notifications().list()).toMatchObject([{ firing }]);
    }),
  );

  it.each([
    ["of one byte", "x", 1],
    ["of two bytes", "é", 2],
  ])(
    "for one that does not answer, in characters %s → new alerts are delivered later, and only if they last",
    (_, text, bytes) =>
      withFleet(async (fleet) => {
        await oneSilent(fleet, 503);
        const full = "UPDATE letters SET body = ?";
        fleet.sql.exec(full, text.repeat(NOTIFICATION_LIMITS.bytesWaiting / bytes));
        fleet.goes(2, "silent");
        fleet.goes(3, "silent");
        await fleet.pass(MINUTE);
        expect(fleet.notifications().list()).toMatchObject([{ waiting: 1, firing: 1 }]);
        fleet.goes(3, "ready");
        fleet.sql.exec(full, '{"alerts":[]}');
        fleet.behaviour["ops"] = 200;
        await fleet.pass(HOUR);
        expect(fleet.delivered()).toEqual([`firing ${TWO} silent`]);
      }),
  );

  it("dead ones → the oldest are deleted and counted; the next message has the count", () =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      fleet.behaviour["ops"] = 400;
      for (let index = 1; index <= NOTIFICATION_LIMITS.deadLetters + 1; index++) {
        fleet.goes(index, "silent");
        await fleet.pass(SECOND);
      }
      const { deadLetters } = NOTIFICATION_LIMITS;
      expect(fleet.notifications().list()).toMatchObject([{ dead: deadLetters, dropped: 1 }]);
      expect(fleet.notifications().deliveries("ops")).toHaveLength(deadLetters);
      fleet.behaviour["ops"] = 200;
      fleet.goes(1, "ready");
      fleet.goes(500, "silent", { address: "198.51.100.9" });
      await fleet.pass(MINUTE);
      expect(fleet.delivered()).toEqual([`firing ${machineName(500)} silent`]);
      expect(JSON.parse(fleet.deliveries.at(-1)!.body)).toMatchObject({ dropped: 1 });
    }, 1000));

  it("dead ones whose alerts are over → the limit applies, and none is delivered", () =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      fleet.behaviour["ops"] = 400;
      const { deadLetters } = NOTIFICATION_LIMITS;
      // The machines turn silent in descending order, and are ready in ascending order: the newest alert ends
      // first.
      for (let index = deadLetters; index >= 1; index--) {
        fleet.goes(index, "silent");
        await fleet.pass(SECOND);
      }
      for (let index = 1; index <= deadLetters; index++) fleet.goes(index, "ready");
      fleet.behaviour["ops"] = 200;
      await fleet.pass(MINUTE);
      expect(fleet.notifications().list()).toMatchObject([
        { dead: deadLetters, dropped: deadLetters, waiting: 0 },
      ]);
      expect(fleet.delivered()).toEqual([]);
    }, 1000));

  it("many alerts at once → few deliveries", () =>
    withFleet(async (fleet) => {
      await fleet.add();
      for (let index = 1; index <= 1000; index++) fleet.goes(index, "not-ready");
      await fleet.pass(4 * MINUTE);
      expect(fleet.delivered()).toHaveLength(1000);
      expect(fleet.deliveries.length).toBeLessThanOrEqual(1 + 1000 / NOTIFICATION_LIMITS.alertsInLetter);
    }));
});

describe("a receiver", () => {
  it("is changed while it fails → retried at once; fields that the change omits stay", () =>
    withFleet(async (fleet) => {
      await oneSilent(fleet, 500);
      fleet.behaviour["new"] = 200;
      const put = (wish: object) =>
        fleet
          .notifications()
          .put("ops", receiverChangeSchema.parse({ delaySeconds: 0, ...wish }), false, "alice");
      const changed = await put({ url: "https://new.example.com/x" });
      expect(changed).toMatchObject({ ok: true, value: { url: "https://new.example.com/…" } });
      await fleet.pass(0);
      expect(fleet.delivered("new")).toEqual([`firing ${ONE} silent`]);
      const again = await put({ newSecret: true });
      expect(again).toMatchObject({
        ok: true,
        value: { secret: expect.stringMatching(/^whsec_/) as string, url: "https://new.example.com/…" },
      });
    }));

  it.each<[string, url: string | undefined, authorization: string | undefined, keeps: boolean]>([
    ["no address", undefined, undefined, true],
    ["its own address", "https://ops.example.com/in", undefined, true],
    ["another path of its origin", "https://OPS.example.com:443/other?x=1", undefined, true],
    ["another host", "https://new.example.com/in", undefined, false],
    ["a name below its host", "https://new.ops.example.com/in", undefined, false],
    ["another port", "https://ops.example.com:8443/in", undefined, false],
    ["another host, with a credential for it", "https://new.example.com/in", "Bearer new", false],
  ])("gets %s → its credential and signing secret stay only at its origin", (_, url, authorization, keeps) =>
    withFleet(async (fleet) => {
      const before = await fleet.add({ delaySeconds: 0, authorization: "Bearer of-ops" });
      const wish = { delaySeconds: 0, url, ...(authorization !== undefined && { authorization }) };
      const change = receiverChangeSchema.parse(wish);
      const changed = await fleet.notifications().put("ops", change, false, "alice");
      if (!changed.ok) throw new Error(JSON.stringify(changed.error));
      const { secret, hasAuthorization } = changed.value;
      const sent = keeps ? "Bearer of-ops" : authorization;
      expect([secret === null, hasAuthorization]).toEqual([keeps, sent !== undefined]);
      fleet.goes(1, "silent");
      await fleet.pass(0);
      const { headers } = fleet.deliveries[0]!;
      expect(headers["authorization"]).toBe(sent);
      const signing = fleet.sql.exec<{ secret: string }>("SELECT secret FROM receivers").one().secret;
      expect(signing === before).toBe(keeps);
      expect(keeps || signing === secret).toBe(true);
    }),
  );

  it("has an address that is not allowed any more → no delivery is sent, and the list states why", () =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0, authorization: "Bearer of-ops" });
      fleet.sql.exec("UPDATE receivers SET url = 'https://10.0.0.1/in'");
      fleet.goes(1, "silent");
      await fleet.pass(MINUTE);
      expect(fleet.deliveries).toEqual([]);
      expect(fleet.notifications().list()).toMatchObject([
        { waiting: 1, error: expect.stringMatching(/^the address is refused: .*private/) as string },
      ]);
      expect(await fleet.notifications().test("ops", "alice")).toMatchObject({
        arrived: false,
        status: null,
      });
      expect(fleet.deliveries).toEqual([]);
    }));

  it("is removed while the audit log takes its test → the test arrives, and no row is left", () =>
    withFleet(async (fleet) => {
      await fleet.add();
      const removing = fleet.notifications().remove("ops", "bob");
      expect(await tested(fleet)).toMatchObject({ arrived: true });
      expect(await removing).toBe(true);
      expect(fleet.sql.exec("SELECT * FROM last_deliveries").toArray()).toEqual([]);
    }));

  it("is removed → no row of it is left", () =>
    withFleet(async (fleet) => {
      await oneSilent(fleet, 500);
      const remove = () => fleet.notifications().remove("ops", "alice");
      expect([await remove(), await remove()]).toEqual([true, false]);
      expect(fleet.audited).toEqual(["alice receiver.set ops", "alice receiver.remove ops"]);
      for (const table of ["receivers", "watched", "alerts", "letters", "last_deliveries"])
        expect(fleet.sql.exec(`SELECT * FROM ${table}`).toArray()).toEqual([]);
      expect(fleet.notifications().task().dueMs()).toBeNull();
    }));

  it.each<[string, Behaviour, object]>([
    ["that answers", 200, { arrived: true, status: 200, answer: "an answer", tookMs: 0 }],
    [
      "that refuses",
      () => new Response("x".repeat(5000), { status: 403 }),
      { arrived: false, status: 403, answer: "x".repeat(1024) },
    ],
    ["that hangs", "hangs", { arrived: false, status: null, answer: "no answer within 0.02 s" }],
  ])("%s, by a test → what came back; nothing is queued", (_, how, expected) =>
    withFleet(async (fleet) => {
      await fleet.add();
      fleet.behaviour["ops"] = how;
      expect(await outlasting(fleet.notifications().test("ops", "alice"))).toMatchObject(expected);
      expect(fleet.notifications().deliveries("ops")).toEqual([]);
      expect(fleet.notifications().list()).toMatchObject([{ nextAttemptAt: null }]);
      expect(await fleet.notifications().test("nobody", "alice")).toBeNull();
    }),
  );

  it.each<[string, Behaviour, (fleet: NotifiedFleet) => Promise<unknown>, object | null]>([
    ["nothing was sent", 200, () => Promise.resolve(), null],
    ["a test arrived", 200, tested, { arrived: true, error: "", isTest: true }],
    ["a test got 500", 500, tested, { arrived: false, error: "HTTP 500: an answer", isTest: true }],
    ["an alert arrived", 200, alerted, { arrived: true, error: "", isTest: false }],
    [
      "an alert waits for a retry",
      503,
      alerted,
      { arrived: false, error: "HTTP 503: an answer", isTest: false },
    ],
    ["an alert was refused", 400, alerted, { arrived: false, error: "HTTP 400: an answer", isTest: false }],
    [
      "it has no answer",
      "unreachable",
      alerted,
      { arrived: false, error: "Error: connection refused", isTest: false },
    ],
    [
      "another delay since",
      200,
      async (fleet) => {
        await alerted(fleet);
        const change = receiverChangeSchema.parse({ delaySeconds: 60 });
        await fleet.notifications().put("ops", change, false, "alice");
      },
      { arrived: true, error: "", isTest: false },
    ],
    [
      "another address since",
      200,
      async (fleet) => {
        await alerted(fleet);
        const change = receiverChangeSchema.parse({ url: "https://ops.example.com/other" });
        await fleet.notifications().put("ops", change, false, "alice");
      },
      null,
    ],
  ])("states its last delivery: %s", (_, how, situation, expected) =>
    withFleet(async (fleet) => {
      await fleet.add({ delaySeconds: 0 });
      fleet.behaviour["ops"] = how;
      await situation(fleet);
      fleet.evict();
      const [receiver] = fleet.notifications().list();
      const at = new Date(FLEET_START_MS + fleet.now()).toISOString();
      expect(receiver!.lastDelivery).toEqual(expected && { ...expected, at });
    }),
  );

  it("fails, and a test fails as well → its waiting delivery waits for its retry", () =>
    withFleet(async (fleet) => {
      await oneSilent(fleet, 503);
      await fleet.pass(SECOND);
      await tested(fleet);
      await fleet.pass(0);
      expect(fleet.deliveries).toHaveLength(2);
    }));

  it("fails, and then a test arrives → its waiting delivery is sent at once", () =>
    withFleet(async (fleet) => {
      await oneSilent(fleet, 503);
      fleet.behaviour["ops"] = 200;
      await fleet.pass(SECOND);
      expect(fleet.deliveries).toHaveLength(1);
      await tested(fleet);
      await fleet.pass(0);
      expect(fleet.deliveries.map(({ arrived }) => arrived)).toEqual([false, true, true]);
      expect(fleet.notifications().list()).toMatchObject([{ waiting: 0, failingSince: null }]);
    }));

  it.each(MESSAGE_FORMATS)(
    "of the format %s, by a test → a message without a machine, a state or a dead link",
    (format) =>
      withFleet(async (fleet) => {
        await fleet.add({ format });
        await fleet.notifications().test("ops", "alice");
        const { body } = fleet.deliveries[0]!;
        expect(body).toMatch(/Test from rollcall made-up to the receiver ops: nothing is wrong\./);
        expect(body).not.toMatch(/silent|firing|resolved|Over:|machine=|v1\/nodes/);
        for (const [link] of body.matchAll(/https:[^"|]*/g))
          expect(link).toBe("https://rollcall.test/?view=notifications");
      }),
  );

  it("exceeds the limit by one → refused", () =>
    withFleet(async (fleet) => {
      for (let index = 0; index < NOTIFICATION_LIMITS.receivers; index++)
        await fleet.add({ name: `r-${index}` });
      await expect(fleet.add({ name: "more" })).rejects.toThrow(/remove one first/);
      await expect(fleet.add({ name: "r-0" })).rejects.toThrow(/of this name/);
    }));
});

describe("concurrent changes of receivers", () => {
  const put = ({ notifications }: NotifiedFleet) =>
    notifications().put("ops", receiverChangeSchema.parse({}), false, "bob");
  it.each<[string, (fleet: NotifiedFleet) => Promise<unknown>[], unknown[], string[]]>([
    [
      "two of one name are added → one is",
      ({ add }) => [add(), add()],
      [expect.stringMatching(/^whsec_/), expect.stringContaining("of this name")],
      ["ops"],
    ],
    [
      "it is changed while it is removed → it is removed",
      (fleet) => [fleet.notifications().remove("ops", "alice"), put(fleet)],
      [true, { ok: false, error: null }],
      [],
    ],
  ])("%s", (_, act, expected, left) =>
    withFleet(async (fleet) => {
      if (left.length === 0) await fleet.add();
      const outcomes = act(fleet).map((each) => each.catch(({ message }: Error) => message));
      expect(await Promise.all(outcomes)).toEqual(expected);
      expect(
        fleet
          .notifications()
          .list()
          .map(({ name }) => name),
      ).toEqual(left);
    }),
  );

  it("two are added where one fits → one is added", () =>
    withFleet(async (fleet) => {
      const { receivers } = NOTIFICATION_LIMITS;
      for (let index = 1; index < receivers; index++) await fleet.add({ name: `r-${index}` });
      const added = await Promise.allSettled(["a", "b"].map((name) => fleet.add({ name })));
      expect(added.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
      expect(fleet.notifications().list()).toHaveLength(receivers);
    }));

  it("a dead delivery's ID of another receiver → not found, and no audit entry", () =>
    withFleet(async (fleet) => {
      await oneSilent(fleet, 400);
      await fleet.add({ name: "other" });
      const [{ id } = { id: 0 }] = fleet.notifications().deliveries("ops")!;
      const before = fleet.audited.length;
      expect(await fleet.notifications().resend("other", id, "alice")).toBe(false);
      expect(fleet.audited.slice(before)).toEqual([]);
      expect(await fleet.notifications().resend("ops", id, "alice")).toBe(true);
    }));
});

it.each([
  ["the first failure → 30 s, and up to a quarter more", 1, 0, [30_000, 37_500]],
  ["the tenth → an hour, and up to a quarter more", 10, 0, [3_600_000, 4_500_000]],
  ["a Retry-After of two days → a day", 1, 48 * HOUR, [24 * HOUR, 24 * HOUR]],
])("the wait after %s", (_, failed, askedMs, expected) => {
  expect([0, 1].map((random) => waitMs(failed, askedMs, () => random))).toEqual(expected);
});

/** The numbers of the machines. The last two report from the same address. */
const MACHINES = [1, 2, 3, 43];

/** Generates the events that may happen in any order. */
const happening = fc.oneof(
  fc.record({
    machine: fc.constantFrom(...MACHINES),
    to: fc.constantFrom("ready", "silent", "not-ready", "cluster-unreachable", "gone"),
  }),
  fc.record({ pass: fc.constantFrom(0, 3 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, HOUR, 30 * HOUR) }),
  fc.record({ behaves: fc.constantFrom<Behaviour>(200, 200, 500, 400, "unreachable") }),
  fc.constant("evict" as const),
  fc.constant("mute" as const),
  fc.constant("resend" as const),
);

it("random events → each alert that arrived as firing ends exactly once, in order", () =>
  fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 25, size: "max" }), (happenings) =>
      withFleet(async (fleet) => {
        await fleet.add({ repeatMinutes: 60 });
        const resend = async () => {
          for (const { id, state } of fleet.notifications().deliveries("ops")!)
            if (state === "dead") await fleet.notifications().resend("ops", id, "alice");
        };
        for (const each of happenings) {
          if (each === "evict") fleet.evict();
          else if (each === "mute")
            await fleet.mute({
              until: new Date(Date.UTC(2026, 0, 1) + fleet.now() + 10 * MINUTE).toISOString(),
            });
          else if (each === "resend") await resend();
          else if ("pass" in each) await fleet.pass(each.pass);
          else if ("behaves" in each) fleet.behaviour["ops"] = each.behaves;
          else fleet.goes(each.machine, each.to);
        }
        fleet.behaviour["ops"] = 200;
        for (const index of MACHINES) fleet.goes(index, "ready");
        await fleet.pass(2 * HOUR);
        await resend();
        await fleet.pass(2 * HOUR);
        const seen = new Map<string, string[]>();
        for (const { id, status } of fleet.deliveries.filter(({ arrived }) => arrived).flatMap(alertsOf))
          seen.set(id, [...(seen.get(id) ?? []), status]);
        for (const statuses of seen.values()) expect(statuses.join(" ")).toMatch(/^(firing )+resolved$/);
        for (const table of ["watched", "alerts"])
          expect(fleet.sql.exec(`SELECT * FROM ${table}`).toArray()).toEqual([]);
        expect(fleet.notifications().task().dueMs()).toBeNull();
      }),
    ),
    { numRuns: 15 },
  ));
