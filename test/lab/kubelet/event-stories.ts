// Plays changes of a machine that make both a kubelet and a shim send events.
import { setTimeout as wait } from "node:timers/promises";
import type { EventPair } from "./event-pair.ts";
import type { RealKubelet } from "./real-kubelet.ts";

export interface EventStory {
  /** The part of the Nodes' names that distinguishes the story. */
  name: string;
  what: string;
  play: (pair: EventPair, kubelet: RealKubelet) => Promise<void>;
}

/** Milliseconds of an outage: long enough for leases to expire, and for watches to open again. */
const OUTAGE_MS = 20_000;
const RESTARTS = 7;

/**
 * Returns a story about pressure in which no disk must be full: every machine meets its threshold. The threshold is a
 * soft one, because no machine has the amount that a hard one would reserve.
 */
function pressure(name: string, signal: string, condition: string, over: string): EventStory {
  return {
    name,
    what: `${condition}, and over again`,
    async play(pair) {
      const flags = [`--eviction-soft=${signal}<999Ti`, `--eviction-soft-grace-period=${signal}=1s`];
      await pair.begin(name, flags);
      await pair.both(condition);
      await pair.both("EvictionThresholdMet");
      await pair.restart();
      await pair.both(over);
    },
  };
}

export const EVENT_STORIES: readonly EventStory[] = [
  {
    name: "runtime",
    what: "the container runtime is away, and back",
    async play(pair, { runtime }) {
      await pair.begin("runtime");
      await pair.both("NodeReady");
      await runtime.stop();
      await pair.both("NodeNotReady");
      await runtime.start();
      await pair.both("NodeReady", 2);
    },
  },
  {
    name: "network",
    what: "the network's configuration is away, and back",
    async play(pair, { runtime }) {
      await pair.begin("network");
      await pair.both("NodeReady");
      runtime.network(false);
      await pair.both("NodeNotReady");
      runtime.network(true);
      await pair.both("NodeReady", 2);
    },
  },
  pressure("memory", "memory.available", "NodeHasInsufficientMemory", "NodeHasSufficientMemory"),
  pressure("disk", "nodefs.available", "NodeHasDiskPressure", "NodeHasNoDiskPressure"),
  pressure("pids", "pid.available", "NodeHasInsufficientPID", "NodeHasSufficientPID"),
  {
    name: "cordon",
    what: "cordoned, and uncordoned",
    async play(pair) {
      await pair.begin("cordon");
      await pair.both("NodeReady");
      await pair.patch({ spec: { unschedulable: true } });
      await pair.both("NodeNotSchedulable");
      await pair.patch({ spec: { unschedulable: null } });
      await pair.both("NodeSchedulable");
    },
  },
  {
    name: "restarts",
    what: `${RESTARTS} restarts, then the network's configuration is away, and back`,
    async play(pair, { runtime }) {
      await pair.begin("restarts");
      await pair.both("NodeReady");
      for (let starts = 2; starts <= RESTARTS + 1; starts++) {
        await pair.restart();
        await pair.both("Starting", starts);
      }
      await pair.both("NodeHasSufficientPID", RESTARTS + 1);
      runtime.network(false);
      await pair.both("NodeNotReady");
      runtime.network(true);
      await pair.both("NodeReady", 2);
    },
  },
  {
    name: "outage",
    what: "the apiserver does not answer for a while",
    async play(pair, { apiserver }) {
      await pair.begin("outage");
      await pair.both("NodeReady");
      process.kill(apiserver.pids.kubeApiserver, "SIGSTOP");
      try {
        await wait(OUTAGE_MS);
      } finally {
        process.kill(apiserver.pids.kubeApiserver, "SIGCONT");
      }
      await pair.both("NodeReady");
    },
  },
];
