// Which sockets a gateway lets be opened.
import { describe, expect, it } from "vitest";
import { GATEWAY_LIMITS } from "../../../../shared/protocol/limits.ts";
import { inGateway, type MadeUpGateway } from "../../support/made-up-gateway.ts";

describe("a connect ticket", () => {
  it("opens one socket", () =>
    inGateway(async (made) => {
      expect(await made.open("edge-1", "a")).not.toBeTypeOf("string");
      expect(await made.open("edge-1", "a")).toBe("used ticket");
      expect(await made.open("edge-1", "b")).not.toBeTypeOf("string");
    }));

  it("is used up by a refusal, too", () =>
    inGateway(async (made) => {
      made.size = 0;
      expect(await made.open("edge-1", "a")).toBe("full");
      expect(await made.open("edge-1", "a")).toBe("used ticket");
    }));

  it("is remembered for as long as it is good", () =>
    inGateway(async (made) => {
      await made.open("edge-1", "a");
      await made.pass(1000 * GATEWAY_LIMITS.ticketSeconds);
      expect(await made.open("edge-1", "a")).toBe("used ticket");
    }));
});

describe("sockets of one name without an accepted report", () => {
  it("as many as there may be", () =>
    inGateway(async (made) => {
      for (let sockets = 0; sockets < GATEWAY_LIMITS.unacceptedOfName; sockets++) await made.opened("edge-1");
      expect(made.sockets.flatMap(({ said }) => said)).toEqual([]);
    }));

  it("one more → the oldest gives way; an accepted one does not count", () =>
    inGateway(async (made) => {
      const accepted = await made.connected("edge-1");
      for (let sockets = 0; sockets <= GATEWAY_LIMITS.unacceptedOfName; sockets++) {
        made.nowMs++;
        await made.opened("edge-1");
      }
      const [, oldest, ...others] = made.sockets;
      expect(oldest?.said).toEqual(["closing replaced"]);
      expect(others.flatMap(({ said }) => said)).toEqual([]);
      expect(accepted.said).toEqual(["report-answer 200"]);
    }));
});

describe("sockets that one name opens", () => {
  const { upgradesAMinute } = GATEWAY_LIMITS;

  async function opensAll(made: MadeUpGateway): Promise<void> {
    for (let sockets = 0; sockets < upgradesAMinute; sockets++) await made.opened("edge-1");
  }

  it("as many as may be opened at once, and not one more, though the gateway has closed them; another name's do not count", () =>
    inGateway(async (made) => {
      await opensAll(made);
      expect(made.sockets.filter(({ readyState }) => readyState === 1)).toHaveLength(
        GATEWAY_LIMITS.unacceptedOfName,
      );
      expect(await made.open("edge-1")).toBe("sent away 3");
      expect(await made.open("edge-2")).not.toBeTypeOf("string");
    }));

  it.each([
    ["just before its time", 60_000 / upgradesAMinute - 1, "sent away 1"],
    ["at its time", 60_000 / upgradesAMinute, undefined],
  ])("the next one %s; who is refused waits no longer for it", (_, afterMs, refusal) =>
    inGateway(async (made) => {
      await opensAll(made);
      made.nowMs += 1000;
      expect(await made.open("edge-1")).toBe("sent away 2");
      made.nowMs += afterMs - 1000;
      const opened = await made.open("edge-1");
      expect(typeof opened === "string" ? opened : undefined).toBe(refusal);
    }),
  );

  it("by a clock that was put back: nobody waits for it", () =>
    inGateway(async (made) => {
      await opensAll(made);
      made.nowMs -= 3_600_000;
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
    }));

  it("as many again after a minute, in which its alarm has rung", () =>
    inGateway(async (made) => {
      await opensAll(made);
      await made.pass(30_000);
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
      await made.pass(60_000);
      await opensAll(made);
      expect(await made.open("edge-1")).toBe("sent away 3");
    }));
});

describe("a gateway's size", () => {
  it("so many machines, and not one more; a member may always open another socket", () =>
    inGateway(async (made) => {
      made.size = 2;
      await made.connected("edge-1");
      await made.connected("edge-2");
      expect(await made.open("edge-3")).toBe("full");
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
    }));

  it("who has not reported yet has its place", () =>
    inGateway(async (made) => {
      made.size = 2;
      await made.connected("edge-1");
      await made.opened("edge-2");
      expect(await made.open("edge-3")).toBe("full");
      expect(await made.open("edge-2")).not.toBeTypeOf("string");
    }));

  it("a place is free once its machine is gone; members count after an eviction as well", () =>
    inGateway(async (made) => {
      made.size = 1;
      const socket = await made.connected("edge-1");
      made.evict();
      expect(await made.open("edge-2")).toBe("full");
      await made.lose(socket);
      expect(await made.open("edge-2")).not.toBeTypeOf("string");
    }));
});
