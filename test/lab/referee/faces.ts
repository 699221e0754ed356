// Judges what kubectl and the list state, by the truth alone: a statement is untrue if it was not true at any moment of
// the last 45 s. In contact: the Worker accepted a message of the machine within 40 s. Trouble: a fault of the
// apiserver, and the minute after it.
//
// | statement                        | is true                                                                        |
// | -------------------------------- | ------------------------------------------------------------------------------ |
// | ready, Ready True                | in contact, and the last report states no reason for Ready False               |
// | silent, Ready Unknown            | no message of the machine arrives, or the Worker refuses all                   |
// | not-ready, Ready False           | in contact, and the last report states a reason, or another writer wrote it    |
// | cluster-unreachable              | the apiserver is in trouble                                                    |
// | blocked, revoked, absent         | the key has several senders, the Node was deleted, or an operator ended it     |
// | a pressure                       | a report of the last five minutes states it, as with a kubelet                 |
// | a notification                   | firing: the machine has the state; resolved: the state has ended               |
// | rollcall_cluster_reachable       | requests to the apiserver succeed                                              |
//
// Exceptions, which docs/cluster.md states: without a socket and without the watch of the Nodes, silence is noticed within
// five minutes. On Nodes with pods only the node controller changes Ready. After a trouble the watch of the Nodes begins
// within a minute, and must be live for a minute before the Worker writes Ready Unknown.
import type { MachinesAnswer } from "../../../shared/protocol/fleet-answers.ts";
import { LATE_MS, PRESSURES, type Pressure } from "./truth.ts";
import type { LivingMachine, World } from "./world.ts";

/** A statement of a face that is not true. */
export interface Lie {
  face: string;
  /** The machine; "" for a statement about the fleet. */
  about: string;
  sentence: string;
  truth: string;
}

/** Returns a function that makes the Lie of a statement; none if `truth` is null. */
export const lieOf =
  (face: string, about: string) =>
  (sentence: string, truth: string | null): Lie[] =>
    truth === null ? [] : [{ face, about, sentence, truth }];

/** The longest time until the Worker notices the silence of a machine without a socket and a watch (docs/cluster.md). */
const UNWATCHED_MS = 310_000;
/** The node controller's grace period and period, and the time until the Worker's watch has the change. */
const CONTROLLER_MS = 70_000;
/** The time for which the watch must be live after a trouble (worker/machine/silent-node.ts). */
const WATCH_MS = 60_000;
/** The longest time after a trouble of the apiserver until the Worker repeats a failed request. */
const AGAIN_MS = 60_000;

/** The delay of a notice while alarms ring late: an alarm of the gateway, then one of the machine's object. */
const ALARMS_LATE_MS = 45_000;

const ago = (world: World, atMs: number) => `${Math.round((world.time.nowMs() - atMs) / 1000)} s`;

/** Returns the time from a machine's last message within which the Worker must notice its silence. */
function noticedWithin({ shape, alarmsLate, time }: World, { heard }: LivingMachine): number {
  const lateMs = alarmsLate.wasOn(time.nowMs()) ? ALARMS_LATE_MS : 0;
  if (heard.watchedBy !== "nothing" || shape.isWatched) return LATE_MS + lateMs;
  return UNWATCHED_MS;
}

/** Judges a machine's state in the fleet index. Returns the truth if the state is untrue. */
export function judgeState(world: World, machine: LivingMachine, state: string): string | null {
  const { heard, blocked, foreign } = machine;
  const nowMs = world.time.nowMs();
  const isTroubled = world.kubeTrouble.wasOn(nowMs, LATE_MS + AGAIN_MS);
  const unheard = `not heard of for ${ago(world, heard.lastMs)}`;
  const isLong = !heard.wasInContact(nowMs, noticedWithin(world, machine));
  switch (state) {
    case "ready":
      if (isLong && !isTroubled) return unheard;
      if (!heard.mayBeReady(nowMs) && !isTroubled)
        return `not ready since ${ago(world, heard.notReady.sinceMs)}`;
      return null;
    case "silent":
      return heard.wasOutOfContact(nowMs) ? null : `it reports since ${ago(world, heard.arrivingSinceMs)}`;
    case "cluster-unreachable":
      // The Worker notices the end of a trouble with the next message, or when it notices that the machine is silent.
      if (isTroubled || nowMs - heard.contactSinceMs <= LATE_MS) return null;
      if (isLong && world.kubeTrouble.wasOn(nowMs, AGAIN_MS + noticedWithin(world, machine))) return null;
      if (!heard.wasInContact(nowMs) && !isLong) return null;
      return `the apiserver answers since ${ago(world, world.kubeTrouble.sinceMs)}`;
    case "not-ready":
      if (isLong && !isTroubled) return unheard;
      if (isTroubled || heard.mayBeNotReady(nowMs) || foreign.wasOn(nowMs) || !heard.wasInContact(nowMs, 0))
        return null;
      return heard.wasOutOfContact(nowMs) || blocked.wasOn(nowMs)
        ? null
        : "its last report states that it is ready";
    case "blocked":
    case "revoked":
      return blocked.wasOn(nowMs) ? null : "nothing blocks it";
    default:
      return null;
  }
}

export const CONTROLLER_TEXT = "Kubelet stopped posting node status.";

/** Judges a face's text: returns the truth if the text quotes a condition that the machine has not reported. */
export function judgeQuotes(machine: LivingMachine, nowMs: number, words: string): string | null {
  if (words.includes(CONTROLLER_TEXT)) return "the machine never said that";
  for (const type of PRESSURES)
    if (new RegExp(`${type}(?! is Unknown)`).test(words) && !machine.heard.mayHave(type, nowMs))
      return `it never stated ${type}`;
  return null;
}

/** Checks GET /v1/machines. */
export async function checkList(world: World): Promise<Lie[]> {
  const answer = await world.operator<MachinesAnswer>("GET", "/v1/machines?fields=name,state,why,conditions");
  const nowMs = world.time.nowMs();
  return world.machines.flatMap((machine) => {
    const { name } = machine;
    const row = answer.machines.find((each) => each.name === name);
    const lie = lieOf("the list", name);
    if (!row) return lie("absent", machine.blocked.wasOn(nowMs) ? null : "it is enrolled");
    const { state = "", why = "" } = row;
    return [
      ...lie(state, judgeState(world, machine, state)),
      ...lie(`${state}: ${why}`, judgeQuotes(machine, nowMs, why)),
    ];
  });
}

/** Checks the Nodes as kubectl shows them. */
export function checkNodes(world: World): Lie[] {
  return world.machines.flatMap((machine) => {
    const { name } = machine;
    const lie = lieOf("kubectl", name);
    const node = world.cluster.node(name);
    if (!node) return lie("no Node", mayLackNode(world, machine) ? null : "it reports");
    return (node.status?.conditions ?? []).flatMap(({ type, status, reason, message }) =>
      lie(
        `${type} ${status} (${reason}: ${message})`,
        type === "Ready"
          ? judgeReady(world, machine, status)
          : judgePressure(world, machine, type as Pressure, status),
      ),
    );
  });
}

/** Returns true if the machine's Node may be absent. A deleted Node is registered again with a report (docs/cluster.md). */
function mayLackNode(world: World, machine: LivingMachine): boolean {
  const nowMs = world.time.nowMs();
  return machine.blocked.wasOn(nowMs) || machine.heard.wasOutOfContact(nowMs) || isExcused(world, machine);
}

/** Returns true if the Worker cannot write the Node, or must not: a trouble, a block, or another writer's change. */
function isExcused(world: World, { foreign, blocked }: LivingMachine): boolean {
  const nowMs = world.time.nowMs();
  return (
    world.kubeTrouble.wasOn(nowMs, LATE_MS + WATCH_MS) ||
    world.alarmsLate.wasOn(nowMs) ||
    foreign.wasOn(nowMs, world.shape.isWatched ? LATE_MS : UNWATCHED_MS + LATE_MS) ||
    blocked.wasOn(nowMs, LATE_MS)
  );
}

function judgeReady(world: World, machine: LivingMachine, status: string): string | null {
  const { heard, shape } = machine;
  const nowMs = world.time.nowMs();
  if (isExcused(world, machine)) return null;
  if (status === "True") {
    const { isWatched } = world.shape;
    // The watch may begin AGAIN_MS after a trouble.
    if (world.kubeTrouble.wasOn(nowMs, LATE_MS + AGAIN_MS + WATCH_MS)) return null;
    // Without the watch, and for Nodes with pods, only the node controller changes Ready (docs/cluster.md).
    // A controller that starts gives each Node its grace period.
    const isControllers = shape.isForPods || !isWatched;
    if (isControllers && world.controllerAway.wasOn(nowMs, CONTROLLER_MS)) return null;
    const withinMs = isControllers ? CONTROLLER_MS : noticedWithin(world, machine);
    if (!heard.wasInContact(nowMs, withinMs)) return `not heard of for ${ago(world, heard.lastMs)}`;
    return heard.mayBeReady(nowMs) ? null : `not ready since ${ago(world, heard.notReady.sinceMs)}`;
  }
  if (heard.wasOutOfContact(nowMs)) return null;
  if (status === "Unknown") return `it reports since ${ago(world, heard.contactSinceMs)}`;
  return heard.mayBeNotReady(nowMs) ? null : `it is ready since ${ago(world, heard.notReady.sinceMs)}`;
}

function judgePressure(world: World, machine: LivingMachine, type: Pressure, status: string): string | null {
  const { heard } = machine;
  const nowMs = world.time.nowMs();
  if (!PRESSURES.includes(type) || isExcused(world, machine)) return null;
  if (status === "Unknown") return heard.wasOutOfContact(nowMs) ? null : "it reports";
  if (status === "True") return heard.mayHave(type, nowMs) ? null : "it does not state that";
  return heard.mayLack(type, nowMs) || heard.wasOutOfContact(nowMs) ? null : `it states ${type}`;
}
