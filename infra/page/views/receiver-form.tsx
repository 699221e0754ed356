// Draws the form of a receiver of notifications, for a new receiver and for changes, with the fault of each field.
import { useState } from "preact/hooks";
import { FLEET_STATES, stateText } from "../../../shared/fleet/state.ts";
import type { ChangedReceiver, ListedReceiver } from "../../../shared/protocol/receiver-answers.ts";
import { NOTIFICATION_LIMITS } from "../../../shared/protocol/limits.ts";
import { isWholeWithin } from "../base/amounts.ts";
import { usePage } from "../page.ts";
import { Check, Choice, Field, type FieldProps, FormDialog, useAct, useForm } from "../parts/form.tsx";

const FORMATS = [
  ["json", "JSON, signed as Standard Webhooks specify"],
  ["slack", "Slack, or another receiver of its format"],
  ["alertmanager", "Alertmanager"],
] as const;

/** The values of the form, as they were typed. */
export interface ReceiverForm {
  name: string;
  /** The webhook's address. "" keeps the stored address of a receiver that exists. */
  url: string;
  format: string;
  names: string;
  selector: string;
  states: readonly string[];
  outagesOnly: boolean;
  withDiagnosis: boolean;
  delaySeconds: string;
  /** "" for the default of the format. */
  repeatMinutes: string;
  /** "" keeps the stored header of a receiver that exists. */
  authorization: string;
}

/** The states that a receiver can be notified of: ALERT_STATES, whose file would load zod. */
export const STATES: readonly string[] = FLEET_STATES.filter(
  (state) => state !== "ready" && state !== "pending",
);

const EMPTY: ReceiverForm = {
  name: "",
  url: "",
  format: "json",
  names: "",
  selector: "",
  states: STATES.filter((state) => state !== "revoked"),
  outagesOnly: false,
  withDiagnosis: false,
  delaySeconds: "120",
  repeatMinutes: "",
  authorization: "",
};

function formOf({
  name,
  format,
  names,
  selector,
  states,
  outagesOnly,
  withDiagnosis = false,
  ...times
}: ListedReceiver): ReceiverForm {
  const { delaySeconds, repeatMinutes } = times;
  const limits = { names, selector, states, outagesOnly, withDiagnosis };
  const texts = { delaySeconds: String(delaySeconds), repeatMinutes: String(repeatMinutes) };
  return { ...EMPTY, name, format, ...limits, ...texts };
}

type Faults = Partial<Record<keyof ReceiverForm, string>>;

const NAME = /^[a-z\d]([-a-z\d]{0,61}[a-z\d])?$/;
const NAMES = /^[-.*a-z\d]*$/;

/** Returns the expected form of each wrong field. The Worker also checks the fields, in its own order. */
export function receiverFaults(form: ReceiverForm, isNew: boolean): Faults {
  const [least, most] = NOTIFICATION_LIMITS.repeatMinutes;
  const repeat = form.repeatMinutes.trim();
  const isUrl = /^https?:\/\/\S+$/.test(form.url.trim()) || (!isNew && form.url.trim() === "");
  return {
    ...(!NAME.test(form.name) && { name: "lower case letters, digits and hyphens, at most 63" }),
    ...(!isUrl && { url: "an address that begins with https://" }),
    ...(!NAMES.test(form.names) && { names: "a name, or a pattern such as edge-*" }),
    ...(form.states.length === 0 && { states: "at least one state" }),
    ...(!isWholeWithin(form.delaySeconds, NOTIFICATION_LIMITS.delaySeconds) && {
      delaySeconds: "whole seconds, at most a day (86400)",
    }),
    ...(!["", "0"].includes(repeat) &&
      !isWholeWithin(repeat, [least, most]) && {
        repeatMinutes: `0 for never, or ${least} to ${most} minutes`,
      }),
  };
}

/** Returns the body of the request. */
export function receiverBody({ name, url, authorization, ...form }: ReceiverForm, isNew: boolean) {
  const { format, names, selector, states, outagesOnly, withDiagnosis, delaySeconds, repeatMinutes } = form;
  return {
    ...(isNew && { name }),
    ...(url.trim() !== "" && { url: url.trim() }),
    format,
    names: names.trim(),
    selector: selector.trim(),
    states,
    outagesOnly,
    withDiagnosis,
    delaySeconds: Number(delaySeconds),
    ...(repeatMinutes.trim() !== "" && { repeatMinutes: Number(repeatMinutes) }),
    ...(authorization !== "" && { authorization }),
  };
}

interface ReceiverDialogProps {
  /** The receiver to change; null for a new one. */
  receiver: ListedReceiver | null;
  onClose: () => void;
  /** Called with the Worker's answer, which may contain a new signing secret. */
  onSaved: (receiver: ChangedReceiver) => void;
}

export function ReceiverDialog({ receiver, onClose, onSaved }: ReceiverDialogProps) {
  const isNew = receiver === null;
  const { form, field } = useForm(receiver ? formOf(receiver) : EMPTY);
  const [wrong, setWrong] = useState<Faults>({});
  const act = useAct();
  // The Worker's fault names its field as `/url`.
  const refused = act.fault?.pointer?.slice(1);
  const faultOf = (name: keyof ReceiverForm) =>
    wrong[name] ?? (refused === name ? act.fault?.message : undefined);
  const checked = <Name extends keyof ReceiverForm>(name: Name) => ({ ...field(name), fault: faultOf(name) });
  const submit = async () => {
    const faults = receiverFaults(form, isNew);
    setWrong(faults);
    if (Object.keys(faults).length > 0) return;
    const body = receiverBody(form, isNew);
    const saved = isNew
      ? await act.run<ChangedReceiver>("POST", "/v1/receivers", body)
      : await act.run<ChangedReceiver>("PUT", `/v1/receivers/${encodeURIComponent(receiver.name)}`, body);
    if (saved) onSaved(saved);
  };
  return (
    <FormDialog
      title={isNew ? "New receiver" : `Receiver ${receiver.name}`}
      label={isNew ? "Make the receiver" : "Save"}
      failed={isNew ? "The receiver was not made" : "The receiver was not changed"}
      act={act}
      onSubmit={submit}
      onClose={onClose}
    >
      {isNew && <Field label="Name" hint="Lower case letters, digits and hyphens." {...checked("name")} />}
      <Field
        label="Address"
        hint={isNew ? "The webhook’s, with https." : `Empty: ${receiver.url} stays.`}
        placeholder="https://hooks.example.com/…"
        {...checked("url")}
      />
      <Choice label="Format" choices={FORMATS} {...field("format")} />
      <States value={form.states} fault={faultOf("states")} onChange={field("states").onChange} />
      <AlreadyDown form={form} />
      <Check label="Only if a whole site, or all machines, do not report" {...field("outagesOnly")} />
      <Check label="Ask a machine that is not ready for its diagnosis" {...field("withDiagnosis")} />
      <div class="row fields">
        <Field label="After" hint="Seconds for which the state has to last." {...checked("delaySeconds")} />
        <Field
          label="Again each"
          hint="Minutes; 0 is never. Empty: 60 for Alertmanager, never for others."
          {...checked("repeatMinutes")}
        />
      </div>
      <OfSomeMachines form={form} checked={checked} hasAuthorization={receiver?.hasAuthorization === true} />
    </FormDialog>
  );
}

interface OfSomeMachinesProps {
  form: ReceiverForm;
  checked: (name: "names" | "selector" | "authorization") => Pick<FieldProps, "value" | "onChange" | "fault">;
  hasAuthorization: boolean;
}

function OfSomeMachines({ form, checked, hasAuthorization }: OfSomeMachinesProps) {
  return (
    <details open={form.names !== "" || form.selector !== ""}>
      <summary>Of some machines only; authorization</summary>
      <div class="stack">
        <Field label="Names" hint="A name, or a pattern such as edge-*." {...checked("names")} />
        <Field
          label="Labels"
          hint="A selector, as kubectl takes it: site=berlin,tier!=gpu."
          {...checked("selector")}
        />
        <Field
          label="Authorization"
          hint={`The header that the receiver requires. It is never shown again.${hasAuthorization ? " Empty: the stored one stays." : ""}`}
          {...checked("authorization")}
          type="password"
        />
      </div>
    </details>
  );
}

interface StatesProps {
  value: readonly string[];
  fault: string | undefined;
  onChange: (states: readonly string[]) => void;
}

function States({ value, fault, onChange }: StatesProps) {
  const set = (state: string, isOn: boolean) =>
    onChange(STATES.filter((each) => (each === state ? isOn : value.includes(each))));
  return (
    <fieldset class="field">
      <legend>Alerts on</legend>
      <div class="row">
        {STATES.map((state) => (
          <Check
            key={state}
            label={stateText(state)}
            value={value.includes(state)}
            onChange={(isOn) => set(state, isOn)}
          />
        ))}
      </div>
      {fault && <p class="wrong">Expected: {fault}.</p>}
    </fieldset>
  );
}

/** Draws the number of machines that are in one of the chosen states already. */
function AlreadyDown({ form: { states, names, selector, outagesOnly } }: { form: ReceiverForm }) {
  const counts = usePage().live.counts.value;
  const count = states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  if (count === 0 || outagesOnly) return null;
  const some = names.trim() !== "" || selector.trim() !== "" ? "Up to " : "";
  return (
    <p class="quiet">
      {some}
      {count} {count === 1 ? "machine is" : "machines are"} in such a state now: a new receiver gets one
      message about {count === 1 ? "it" : "them"}.
    </p>
  );
}
