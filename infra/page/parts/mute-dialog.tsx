// Draws the form of a mute: of names and labels, or of machines that the operator has chosen.
import { NOTIFICATION_LIMITS } from "../../../shared/protocol/limits.ts";
import { nowMs } from "../base/clock.ts";
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
