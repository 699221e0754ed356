// Draws the forms that keep machines from causing alerts: of a mute, and of a maintenance.
import { useEffect, useRef, useState } from "preact/hooks";
import { MAINTENANCE_IN_PROGRESS } from "../../../shared/kubernetes/lifecycle-conditions.ts";
import { MAINTENANCE_LIMITS, NOTIFICATION_LIMITS } from "../../../shared/protocol/limits.ts";
import { machinePath, type RequestFault } from "../base/api.ts";
import { nowMs } from "../base/clock.ts";
import { absolute } from "../base/relative-time.ts";
import { usePage } from "../page.ts";
import { Check, Choice, Field, FormDialog, useAct, useForm } from "./form.tsx";
import { Notice } from "./notice.tsx";

const HOUR_MS = 3_600_000;
const DURATIONS = [
  ["1", "1 hour"],
  ["4", "4 hours"],
  ["24", "1 day"],
  ["168", "7 days"],
] as const;

export interface MuteDialogProps {
  /** The names of the chosen machines. Absent if the operator types names or labels. */
  machines?: readonly string[];
  onClose: () => void;
  /** Called after the mute was made. */
  onMade?: () => void;
}

export function MuteDialog({ machines, onClose, onMade }: MuteDialogProps) {
  const { live, notify } = usePage();
  const { form, field } = useForm({ names: "", selector: "", allMachines: false, comment: "", hours: "1" });
  const act = useAct();
  const { hours, selector, allMachines, comment } = form;
  const names = machines?.join() ?? form.names.replaceAll(/\s*,\s*/g, ",").trim();
  const isTooLong = names.length > NOTIFICATION_LIMITS.muteNamesLength;
  const submit = async () => {
    const until = new Date(nowMs() + Number(hours) * HOUR_MS).toISOString();
    const whose = allMachines ? { allMachines } : { names, selector: selector.trim() };
    const body = machines ? { names, comment, until } : { ...whose, comment, until };
    if ((await act.run("POST", "/v1/mutes", body)) === null) return;
    notify("The mute is on. “Notifications” lists and ends it.");
    onMade?.();
    onClose();
  };
  return (
    <FormDialog
      title={machines ? `Mute ${chosenText(machines)}` : "New mute"}
      label={allMachines ? "Mute all machines" : "Mute"}
      failed="It was not made"
      act={act}
      isDangerous={allMachines}
      isIncomplete={isTooLong || (!allMachines && names === "" && selector.trim() === "")}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>Receivers get no alerts on these machines while it lasts. The page still shows their state.</p>
      {isTooLong && (
        <Notice kind="warning">
          These are too many names for one mute. Mute the machines by a label or a pattern of names, under
          “Notifications”.
        </Notice>
      )}
      {!machines && (
        <>
          <Field
            label="Names"
            hint="Names, or patterns such as edge-*, with commas between them."
            isDisabled={allMachines}
            {...field("names")}
          />
          <Field
            label="Labels"
            hint="A selector: site=berlin."
            isDisabled={allMachines}
            {...field("selector")}
          />
          <Check
            label={`All machines (${live.machines().size.toLocaleString("en")} now), in place of names and labels`}
            {...field("allMachines")}
          />
        </>
      )}
      <Choice label="For" choices={DURATIONS} {...field("hours")} />
      <Field label="Why" {...field("comment")} />
    </FormDialog>
  );
}

const chosenText = (machines: readonly string[]): string =>
  machines.length === 1 ? (machines[0] ?? "") : `${machines.length.toLocaleString("en")} machines`;

export interface MaintenanceDialogProps {
  machines: readonly string[];
  onClose: () => void;
}

type Stage = "plan" | "begin" | "end";

const STAGES: Readonly<Record<Stage, { label: string; effect: string; done: string }>> = {
  begin: {
    label: "Begin maintenance",
    effect:
      "Receivers get no alerts until the end, and the Nodes have the condition MaintenanceInProgress. Pods stay.",
    done: "in maintenance",
  },
  plan: {
    label: "Plan maintenance",
    effect: "The Nodes have the condition MaintenancePlanned until the end. Receivers get alerts as before.",
    done: "maintenance is planned",
  },
  end: {
    label: "End maintenance",
    effect: "Receivers get alerts again, also about a machine that is not ready or does not report now.",
    done: "the maintenance has ended",
  },
};
const STAGE_CHOICES = Object.entries(STAGES).map(([stage, { label }]) => [stage, label] as const);

const HOURS_AT_FIRST = 4;

export function MaintenanceDialog({ machines, onClose }: MaintenanceDialogProps) {
  const { live, notify } = usePage();
  const isIn = machines.every(
    (name) => live.machines().get(name)?.conditions[MAINTENANCE_IN_PROGRESS] === "True",
  );
  const { form, field } = useForm<{ stage: Stage; until: string; comment: string }>({
    stage: isIn ? "end" : "begin",
    until: fieldTime(nowMs() + HOURS_AT_FIRST * HOUR_MS),
    comment: "",
  });
  const each = useChangeOfEach(machines);
  const { stage, comment } = form;
  const untilMs = stage === "end" ? null : Date.parse(form.until);
  const fault = untilMs === null ? undefined : endFault(untilMs, nowMs());
  const { label, effect, done } = STAGES[stage];
  const chosen = chosenText(machines);
  const submit = async () => {
    const until = untilMs === null ? {} : { until: new Date(untilMs).toISOString() };
    if (!(await each.run({ maintenance: { stage, ...until, comment } }))) return;
    notify(`${chosen}: ${done}${untilMs === null ? "" : ` until ${absolute(untilMs)}`}.`);
    onClose();
  };
  return (
    <FormDialog
      title={`Maintenance: ${chosen}`}
      label={label}
      failed={machines.length === 1 ? "It failed" : `It failed for ${chosenText(each.left)}`}
      act={each}
      isIncomplete={fault !== undefined}
      onSubmit={submit}
      onClose={onClose}
    >
      <Choice
        label="What"
        choices={STAGE_CHOICES}
        value={stage}
        onChange={(value) => field("stage").onChange(value as Stage)}
      />
      <p>{effect}</p>
      {stage !== "end" && <Field label="Until" type="datetime-local" fault={fault} {...field("until")} />}
      <Field label="Why" {...field("comment")} />
      {each.isActing && <progress max={each.left.length} value={each.sent} aria-label="Machines" />}
    </FormDialog>
  );
}

/** Returns a time in the form of an input of the type datetime-local, in the browser's time zone. */
const fieldTime = (atMs: number): string =>
  absolute(atMs).slice(0, "2026-01-31 12:00".length).replace(" ", "T");

/** Returns the expected end if the end is refused; undefined if it is accepted. */
export function endFault(untilMs: number, now: number): string | undefined {
  const days = (untilMs - now) / (24 * HOUR_MS);
  return days > 0 && days <= MAINTENANCE_LIMITS.days
    ? undefined
    : `a time in the next ${MAINTENANCE_LIMITS.days} days`;
}

/** The number of requests at the same time. */
const AT_ONCE = 6;

/**
 * Returns a function that changes each machine and resolves with true if no request failed. The next call repeats the
 * failed requests. Closing the form sends no further request.
 */
function useChangeOfEach(machines: readonly string[]) {
  const { ask, notify } = usePage();
  const [left, setLeft] = useState(machines);
  const [sent, setSent] = useState<number | null>(null);
  const [fault, setFault] = useState<RequestFault | null>(null);
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);
  const run = async (body: unknown): Promise<boolean> => {
    const failed: { name: string; fault: RequestFault }[] = [];
    const change = async (name: string) => {
      const answer = await ask("PATCH", machinePath(name), { body });
      if (!answer.ok) failed.push({ name, fault: answer.error });
    };
    let from = 0;
    for (; from < left.length && isOpen.current; from += AT_ONCE) {
      setSent(from);
      await Promise.all(left.slice(from, from + AT_ONCE).map(change));
    }
    const rest = left.slice(from);
    if (rest.length > 0) notify(`The form was closed: ${chosenText(rest)} unchanged.`, "fault");
    const [first] = failed;
    setLeft(failed.map(({ name }) => name));
    setFault(first ? { ...first.fault, message: `${first.name}: ${first.fault.message}` } : null);
    setSent(null);
    return failed.length === 0 && rest.length === 0;
  };
  return { left, sent: sent ?? 0, isActing: sent !== null, fault, run };
}
