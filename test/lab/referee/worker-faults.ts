// Lists the faults of the Worker's objects.
import { type Begin, type Fault, type FaultContext, faultsWith, NOTHING } from "./fault.ts";
import type { Host } from "./objects.ts";

const of = faultsWith({ isOfMachine: false });

/** Acts at once. No face is excused, because the platform may evict an object at any time. */
const once =
  (act: (context: FaultContext) => void): Begin =>
  (context) => {
    act(context);
    return NOTHING;
  };

const nodeOf = ({ world, machine }: FaultContext): Host => world.platform.host("NODES", machine.name);
const alone =
  (binding: string, name: string) =>
  ({ world }: FaultContext) =>
    world.platform.host(binding, name);
const gateways = ({ world }: FaultContext): Host[] =>
  world.platform.hosts().filter(({ name }) => name.startsWith("GATEWAYS "));

/** Ends all objects with their sockets. */
const deployment: Begin = ({ world }) => {
  for (const host of world.platform.hosts()) host.abort("a deployment");
  return NOTHING;
};

const lateAlarms: Begin = ({ world }) => {
  const { platform, alarmsLate, time } = world;
  const set = (isSo: boolean) => {
    platform.alarmsLateMs = isSo ? 20_000 : 0;
    alarmsLate.set(isSo, time.nowMs());
  };
  set(true);
  return () => set(false);
};

export const WORKER_FAULTS: readonly Fault[] = [
  of(
    "its object is evicted",
    [1, 1],
    once((context) => nodeOf(context).evict()),
  ),
  of(
    "its object crashes",
    [1, 1],
    once((context) => nodeOf(context).abort("a crash")),
  ),
  of(
    "the gateways are evicted",
    [1, 1],
    once((context) => gateways(context).forEach((host) => host.evict())),
  ),
  of(
    "the gateways crash",
    [1, 1],
    once((context) => gateways(context).forEach((host) => host.abort("a crash"))),
  ),
  of(
    "the fleet index crashes",
    [1, 1],
    once((context) => alone("INDEX", "index")(context).abort("a crash")),
  ),
  of(
    "the registry crashes",
    [1, 1],
    once((context) => alone("REGISTRY", "fleet")(context).abort("a crash")),
  ),
  of(
    "the cluster object crashes",
    [1, 1],
    once((context) => alone("CLUSTER", "cluster")(context).abort("a crash")),
  ),
  of(
    "all objects are evicted",
    [1, 1],
    once(({ world }) => world.platform.hosts().forEach((host) => host.evict())),
  ),
  of("a deployment", [1, 1], deployment),
  of("alarms ring 20 s late", [30, 180], lateAlarms),
];
