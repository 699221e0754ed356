// Tests a shutdown that logind announces on a real bus: the shim notices it, reports it, and then lets it continue.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ShutdownWatch, watchShutdown } from "../../../../node-shim/shutdown/shutdown.ts";
import { temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";
import { type Daemon, hasDbusDaemon, joinAsLogind, startDaemon, WITHOUT_DBUS } from "../wire/dbus/daemon.ts";
import { fakeClock } from "../../../node-shim/base/fake-clock.ts";

const GRACE_MS = 30_000;
/** Milliseconds between two attempts to reach a bus that is not there. */
const LOOK_MS = 5000;

let folder: { path: string; remove: () => void };
let stop: AbortController;
let daemons: Daemon[];
beforeEach(() => {
  folder = temporaryFolder();
  stop = new AbortController();
  daemons = [];
});
afterEach(async () => {
  stop.abort();
  for (const daemon of daemons) await daemon.stop();
  folder.remove();
});

async function daemon(): Promise<Daemon> {
  const started = await startDaemon(folder.path);
  daemons.push(started);
  return started;
}

/** Starts a watch and records its events in order. `until` resolves with the first new event that matches. */
function watching(address: string, gracePeriodMs = GRACE_MS) {
  const clock = fakeClock();
  const happened: string[] = [];
  const waiting = new Map<string, () => void>();
  const note = (what: string) => {
    happened.push(what);
    waiting.get(what)?.();
  };
  let held = 0;
  let fail: (why: string) => void = () => undefined;
  const watch: ShutdownWatch = watchShutdown({
    gracePeriodMs,
    address,
    clock,
    stop: stop.signal,
    turned: (shuttingDown) => note(shuttingDown ? "shutting down" : "not shutting down"),
    log: (level, message) => note(`${level} ${message}`),
    inhibit: (failed) => {
      fail = failed;
      held++;
      note("held back");
      let isReleased = false;
      return {
        release() {
          if (!isReleased) note("released");
          isReleased = true;
          held--;
        },
      };
    },
  });
  return {
    clock,
    watch,
    happened,
    isHeld: () => held > 0,
    fail: (why: string) => fail(why),
    until: (what: string) => new Promise<void>((resolve) => void waiting.set(what, resolve)),
  };
}

describe.skipIf(!hasDbusDaemon)(`on a real bus (else: ${WITHOUT_DBUS})`, () => {
  it("a shutdown → delayed until it was reported; cancelled → logged, and delayed again next time", async () => {
    const bus = await daemon();
    const logind = await joinAsLogind(bus);
    const { watch, happened, until } = watching(bus.address);
    await until("held back");
    expect(watch.isShuttingDown()).toBe(false);

    logind.prepareForShutdown(true);
    await until("shutting down");
    expect(watch.isShuttingDown()).toBe(true);
    watch.reportDelivered();
    logind.prepareForShutdown(false);
    await until("held back");
    expect(watch.isShuttingDown()).toBe(false);
    expect(happened).toEqual([
      "held back",
      "info the machine is shutting down",
      "shutting down",
      "released",
      "info the shutdown was cancelled",
      "not shutting down",
      "held back",
    ]);
    stop.abort();
    expect(happened.at(-1)).toBe("released");
  });

  it("the report cannot be sent → continues after shutdownGracePeriod", async () => {
    const bus = await daemon();
    const logind = await joinAsLogind(bus);
    const { clock, isHeld, until } = watching(bus.address);
    await until("held back");
    logind.prepareForShutdown(true);
    await until("shutting down");
    await clock.pass(GRACE_MS - 1);
    expect(isHeld()).toBe(true);
    await clock.pass(1);
    expect(isHeld()).toBe(false);
  });

  it("one that began before the watch → noticed at once", async () => {
    const bus = await daemon();
    const logind = await joinAsLogind(bus);
    logind.is(true);
    const { happened, until } = watching(bus.address);
    await until("shutting down");
    expect(happened).toEqual(["info the machine is shutting down", "shutting down"]);
  });

  it("a signal of another sender → ignored, also when it is sent to the shim alone", async () => {
    const bus = await daemon();
    const logind = await joinAsLogind(bus);
    const liar = await joinAsLogind(bus, "org.example.liar");
    const { happened, until } = watching(bus.address);
    await until("held back");
    liar.prepareForShutdown(true);
    // The bus numbers its members: logind is the first, the other sender the second, the shim the third.
    for (const destination of [":1.2", ":1.3"]) liar.prepareForShutdown(true, { destination });
    logind.prepareForShutdown(true);
    await until("shutting down");
    logind.prepareForShutdown(false);
    await until("not shutting down");
    expect(happened.filter((what) => what === "shutting down")).toHaveLength(1);
  });

  it("another signal of logind → ignored", async () => {
    const bus = await daemon();
    const logind = await joinAsLogind(bus);
    const { happened, until } = watching(bus.address);
    await until("held back");
    logind.prepareForShutdown(true, { member: "PrepareForSleep" });
    logind.prepareForShutdown(true, { signature: "s", body: ["true"] });
    logind.prepareForShutdown(false);
    logind.prepareForShutdown(true);
    await until("shutting down");
    expect(happened.slice(1)).toEqual(["info the machine is shutting down", "shutting down"]);
  });

  it("no logind → logged once, tried again, and found", async () => {
    const bus = await daemon();
    const { clock, happened, until } = watching(bus.address);
    const line =
      "warn a shutdown of this machine would not be noticed: The name org.freedesktop.login1 was not provided by any .service files";
    await until(line);
    await clock.pass(LOOK_MS);
    await joinAsLogind(bus);
    const held = until("held back");
    await clock.pass(LOOK_MS);
    await held;
    expect(happened).toEqual([line, "held back"]);
  });

  it("a bus that is restarted → logged, and what happened meanwhile is noticed", async () => {
    const bus = await daemon();
    await joinAsLogind(bus);
    const { clock, happened, until, watch } = watching(bus.address);
    await until("held back");
    const lost = until("warn a shutdown of this machine would not be noticed: the connection was closed");
    await bus.stop();
    await lost;
    (await joinAsLogind(await daemon())).is(true);
    const noticed = until("shutting down");
    await clock.pass(LOOK_MS);
    await noticed;
    watch.reportDelivered();
    expect(happened.at(-1)).toBe("released");
  });

  it("the lock cannot be taken → logged, and shutdowns are still noticed", async () => {
    const bus = await daemon();
    const logind = await joinAsLogind(bus);
    const { fail, happened, until } = watching(bus.address);
    await until("held back");
    fail("systemd-inhibit cannot be run (ENOENT)");
    logind.prepareForShutdown(true);
    await until("shutting down");
    expect(happened).toContain("warn shutdowns are not held back: systemd-inhibit cannot be run (ENOENT)");
  });

  describe("the last report", () => {
    it("no shutdown, or one that was reported → at once", async () => {
      const bus = await daemon();
      const logind = await joinAsLogind(bus);
      const { watch, until } = watching(bus.address);
      await watch.awaitLastReport(600);
      await until("held back");
      logind.prepareForShutdown(true);
      await until("shutting down");
      watch.reportDelivered();
      await watch.awaitLastReport(600);
    });

    it("one that was not → when it is reported, or when the time is over; then nothing keeps the process alive", async () => {
      const bus = await daemon();
      const logind = await joinAsLogind(bus);
      const { clock, watch, until } = watching(bus.address);
      await until("held back");
      logind.prepareForShutdown(true);
      await until("shutting down");
      const over: string[] = [];
      const late = watch.awaitLastReport(600).then(() => over.push("time"));
      await clock.pass(599);
      expect(over).toEqual([]);
      await clock.pass(1);
      await late;
      const timers = clock.timers();
      const said = watch.awaitLastReport(600);
      watch.reportDelivered();
      await said;
      // The delivered report has ended the lock's own timer as well.
      expect(clock.timers()).toBe(timers - 1);
    });
  });
});

it("no bus → logged once", async () => {
  const { clock, happened, until } = watching(`unix:path=${folder.path}/none`);
  const line = `warn a shutdown of this machine would not be noticed: ${folder.path}/none: connect ENOENT ${folder.path}/none`;
  await until(line);
  await clock.pass(10 * LOOK_MS);
  expect(happened).toEqual([line]);
});

it("shutdownGracePeriod 0 → nothing watches the bus", async () => {
  const { clock, happened, watch } = watching(`unix:path=${folder.path}/none`, 0);
  await clock.pass(10 * LOOK_MS);
  await watch.awaitLastReport(600);
  expect(happened).toEqual([]);
  expect(watch.isShuttingDown()).toBe(false);
});
