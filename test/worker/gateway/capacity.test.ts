// Tests how many machines a gateway reports that it can serve, and when it moves machines to another gateway.
import { describe, expect, it, test } from "vitest";
import { after } from "../../../worker/clock.ts";
import { Capacity, CAPACITY } from "../../../worker/gateway/capacity.ts";
import type { GatewayParts } from "../../../worker/gateway/endings.ts";
import { GATEWAY, inGateway, INTERVAL_MS, START_MS } from "../support/made-up-gateway.ts";

/** A gateway's capacity with a clock of the test, and a registry that keeps what it gets. */
function measured(members = 500) {
  const story = {
    nowMs: START_MS,
    members,
    reported: [] as number[],
    moved: [] as string[],
    log: [] as object[],
    /** true if the registry does not answer. */
    isAway: false,
  };
  const asked = async (act: () => void) => {
    if (story.isAway) throw new Error("reset");
    act();
  };
  const sockets = [{ beatMs: null }, { beatMs: INTERVAL_MS }].map(({ beatMs }, at) => ({
    attachment: { name: `edge-${at}`, kid: `kid-${at}`, beatMs },
  }));
  const capacity = new Capacity({
    nowMs: () => story.nowMs,
    timer: after,
    members: {
      number: GATEWAY,
      get count() {
        return story.members;
      },
    },
    held: { open: () => sockets },
    registry: {
      noteCapacity: (number: number, machines: number) =>
        asked(() => story.reported.push(number === GATEWAY ? machines : -1)),
      move: ({ name, kid, from }: { name: string; kid: string; from: number }) =>
        asked(() => story.moved.push(`${name} ${kid} ${from}`)),
    },
    log: (line: object) => story.log.push(line),
  } as unknown as GatewayParts);
  const puts = (latencyMs: number, count: number = CAPACITY.puts, intervalMs = INTERVAL_MS) => {
    for (let at = 0; at < count; at++) capacity.note(latencyMs, intervalMs);
  };
  return { story, capacity, puts, pass: (ms: number) => void (story.nowMs += ms) };
}

test.each<[situation: string, latencyMs: number, intervalMs: number, machines: number]>([
  ["50 ms", 50, INTERVAL_MS, 700],
  ["120 ms", 120, INTERVAL_MS, 291],
  ["300 ms", 300, INTERVAL_MS, 116],
  ["300 ms, machines that report every minute", 300, 6 * INTERVAL_MS, 700],
  ["no measurable time → the most that GATEWAY_SIZE can be", 0, INTERVAL_MS, 1000],
  ["the PUT's time limit → at least ten", 3600, INTERVAL_MS, 10],
])("%s → 0.7 × 5 × interval ÷ duration", async (_, latencyMs, intervalMs, machines) => {
  const { story, capacity, puts } = measured();
  puts(latencyMs, CAPACITY.puts, intervalMs);
  await capacity.adjust();
  expect(story.reported).toEqual([machines]);
});

describe("the first report", () => {
  it.each([
    ["one PUT too few", CAPACITY.puts - 1, 500, 0],
    ["as many PUTs as are measured together", CAPACITY.puts, 500, 1],
    ["one machine too few", CAPACITY.puts, CAPACITY.reportsFrom - 1, 0],
    ["as many machines as a gateway that reports", CAPACITY.puts, CAPACITY.reportsFrom, 1],
  ])("%s", async (_, count, members, reports) => {
    const { story, capacity, puts } = measured(members);
    puts(100, count);
    await capacity.adjust();
    expect(story.reported.length).toBe(reports);
  });

  it.each([
    ["four of a hundred PUTs are slow → they do not count", 4, 350],
    ["five of a hundred PUTs are slow → they count", 5, 35],
  ])("%s", async (_, slow, machines) => {
    const { story, capacity, puts } = measured();
    puts(1000, slow);
    puts(100, CAPACITY.puts - slow);
    await capacity.adjust();
    expect(story.reported).toEqual([machines]);
  });

  it("the registry does not answer → logged, and repeated", async () => {
    const { story, capacity, puts } = measured();
    puts(100);
    story.isAway = true;
    await capacity.adjust();
    expect([story.reported, story.log.length]).toEqual([[], 1]);
    story.isAway = false;
    await capacity.adjust();
    expect(story.reported).toEqual([350]);
  });
});

describe("later reports", () => {
  /** Reports 350 machines, and then measures other PUTs. */
  async function later(afterMs: number, ...latenciesMs: number[]): Promise<number[]> {
    const { story, capacity, puts, pass } = measured();
    puts(100);
    await capacity.adjust();
    await capacity.adjust();
    // The measurements of the first ten minutes contain the first one.
    pass(CAPACITY.everyMs);
    await capacity.adjust();
    for (const latencyMs of latenciesMs) puts(latencyMs);
    pass(afterMs);
    await capacity.adjust();
    return story.reported;
  }

  it.each<[situation: string, afterMs: number, latenciesMs: number[], reported: number[]]>([
    ["slower, before ten minutes", CAPACITY.everyMs - 1, [300], [350]],
    ["slower, after ten minutes", CAPACITY.everyMs, [300], [350, 116]],
    ["faster, after ten minutes", CAPACITY.everyMs, [50], [350, 700]],
    ["a quarter slower: the same", CAPACITY.everyMs, [124], [350]],
    ["a quarter faster: the same", CAPACITY.everyMs, [81], [350]],
    ["slow for some of the ten minutes", CAPACITY.everyMs, [2000, 100, 2000], [350]],
    ["no PUT was answered", CAPACITY.everyMs, [], [350]],
    ["the clock was put back", -CAPACITY.everyMs, [300], [350, 116]],
  ])("%s", async (_, afterMs, latenciesMs, reported) => {
    expect(await later(afterMs, ...latenciesMs)).toEqual(reported);
  });
});

describe("a move", () => {
  /** A gateway that reported for ten minutes that it can serve 116 machines. */
  async function settled(members: number) {
    const made = measured(members);
    made.puts(300);
    await made.capacity.adjust();
    made.puts(300);
    made.pass(CAPACITY.everyMs);
    await made.capacity.adjust();
    return made;
  }

  it.each<[situation: string, members: number, late: number, moved: string[]]>([
    ["PUTs are late, and the gateway has one machine too many", 117, 3, [`edge-1 kid-1 ${GATEWAY}`]],
    ["PUTs are late, and the gateway has as many machines as it can serve", 116, 3, []],
    ["no PUT is late", 500, 0, []],
  ])("%s", async (_, members, late, moved) => {
    const { story, capacity } = await settled(members);
    for (let at = 0; at < late; at++) capacity.noteLate();
    expect(await capacity.adjust()).toBe(moved.length > 0);
    expect(story.moved).toEqual(moved);
    // Only PUTs that are late since the last turn count.
    expect(await capacity.adjust()).toBe(false);
  });

  it("PUTs are late for less than ten minutes → no machine moves", async () => {
    const { story, capacity, puts } = measured();
    puts(300);
    await capacity.adjust();
    capacity.noteLate();
    expect([await capacity.adjust(), story.reported, story.moved]).toEqual([false, [116], []]);
  });

  it("the registry does not answer → logged, and another turn follows", async () => {
    const { story, capacity } = await settled(500);
    story.isAway = true;
    capacity.noteLate();
    expect([await capacity.adjust(), story.moved, story.log.length]).toEqual([true, [], 1]);
  });
});

it("a gateway reports in a turn of its alarm", () =>
  inGateway(async (made) => {
    const sockets = [];
    for (let at = 0; at < CAPACITY.reportsFrom; at++) sockets.push(await made.connected(`edge-${at}`));
    made.onPut = () => {
      made.nowMs += 100;
      return undefined;
    };
    for (let round = 0; round < CAPACITY.puts / sockets.length; round++) {
      made.nowMs += 0.96 * INTERVAL_MS;
      for (const socket of sockets) await made.beat(socket, { afterMs: 0 });
    }
    await made.gateway.ring();
    expect([made.capacities, made.moved]).toEqual([[{ number: GATEWAY, machines: 350 }], []]);
  }));
