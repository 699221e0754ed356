// Tests the situations of one pressure condition of the kubelet, with its own texts. pressure-condition.test.ts
// tests the common behaviour of the three conditions.
import type { NodeCondition } from "../../../shared/kubernetes/types.ts";
import type { RecordStatusEvent, Setter } from "../../../shared/setters/setter.ts";
import { BEFORE, expectOutcome, NOW, runSetter } from "./run-setter.ts";

interface Words {
  reason: string;
  message: string;
  event: string;
}

export interface PressureWords {
  type: string;
  pressure: Words;
  none: Words;
}

type PressureSetter = (now: string, underPressure: () => boolean, record: RecordStatusEvent) => Setter;

interface Situation {
  name: string;
  check: (setter: PressureSetter) => void;
}

/** The Node's former status (null for none), the machine's present status, and the result. */
const SITUATIONS = [
  { name: "first status, no pressure → False, and an event", before: null, now: false, changed: true },
  { name: "first status under pressure → True, and an event", before: null, now: true, changed: true },
  { name: "pressure begins → True as of now, and an event", before: false, now: true, changed: true },
  { name: "pressure ends → False as of now, and an event", before: true, now: false, changed: true },
  { name: "still no pressure → a heartbeat alone", before: false, now: false, changed: false },
  { name: "still under pressure → a heartbeat alone", before: true, now: true, changed: false },
];

export function pressureSituations({ type, pressure, none }: PressureWords): Situation[] {
  const conditionOf = (underPressure: boolean, times: Partial<NodeCondition>): NodeCondition => {
    const { reason, message } = underPressure ? pressure : none;
    return { type, status: underPressure ? "True" : "False", reason, message, ...times };
  };
  return SITUATIONS.map(({ name, before, now, changed }) => ({
    name,
    check(setter) {
      const outcome = runSetter(
        ({ recordStatusEvent }) => setter(NOW, () => now, recordStatusEvent),
        before === null
          ? {}
          : {
              status: {
                conditions: [conditionOf(before, { lastHeartbeatTime: BEFORE, lastTransitionTime: BEFORE })],
              },
            },
      );
      expectOutcome(outcome, {
        status: {
          conditions: [
            conditionOf(now, { lastHeartbeatTime: NOW, lastTransitionTime: changed ? NOW : BEFORE }),
          ],
        },
        events: changed ? [(now ? pressure : none).event] : [],
      });
    },
  }));
}
