// Draws forms and sends their requests: fields with label, hint and error, a form in a dialog, a button that confirms.
import type { PathOf } from "../../../shared/protocol/routes.ts";
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { RequestFault, RequestMethod } from "../base/api.ts";
import { usePage } from "../page.ts";
import { Dialog } from "./dialog.tsx";
import { FaultNotice } from "./notice.tsx";

export interface FieldProps {
  label: string;
  hint?: string;
  /** The expected form of the value, or what the value is not, if the value is wrong. */
  fault?: string | undefined;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  isLong?: boolean;
  isDisabled?: boolean;
  /** The type of the input; text if absent. */
  type?: "password" | "datetime-local" | "number";
}

export function Field(props: FieldProps) {
  const { label, hint, fault, value, onChange, placeholder, isLong, isDisabled, type } = props;
  const id = useId();
  const shared = {
    id,
    value,
    placeholder,
    disabled: isDisabled,
    "aria-describedby": hint || fault ? `${id}-hint` : undefined,
    "aria-invalid": fault ? ("true" as const) : undefined,
    autocomplete: "off",
    spellcheck: false,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isLong ? (
        <textarea {...shared} rows={3} />
      ) : type === "password" ? (
        <input {...shared} type="password" />
      ) : type === "datetime-local" ? (
        <input {...shared} type="datetime-local" />
      ) : type === "number" ? (
        <input {...shared} type="number" />
      ) : (
        <input {...shared} type="text" />
      )}
      {(hint || fault) && (
        <p id={`${id}-hint`} class={fault ? "wrong" : "quiet"}>
          {fault ? (fault.startsWith("not ") ? `This is ${fault}.` : `Expected: ${fault}.`) : hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  choices: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
}

export function Choice({ label, value, choices, onChange }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface CheckProps {
  label: string;
  value: boolean;
  onChange: (value: boolean) => void;
}

export function Check({ label, value, onChange }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

/** Returns the typed values of a form. `field` connects a value with a Field, a Choice or a Check. */
export function useForm<Form extends object>(empty: Form) {
  const [form, setForm] = useState(empty);
  const field = <Name extends keyof Form>(name: Name) => ({
    value: form[name],
    onChange: (value: Form[Name]) => setForm((before) => ({ ...before, [name]: value })),
  });
  return { form, field };
}

interface DialogButtonProps {
  label: ComponentChildren;
  look?: "danger" | "primary" | undefined;
  isDisabled?: boolean;
  /** Draws the content of the dialog. `close` closes it. */
  children: (close: () => void) => ComponentChildren;
}

export function DialogButton({ label, look, isDisabled, children }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={look} disabled={isDisabled} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && children(() => setOpen(false))}
    </>
  );
}

interface FormDialogProps {
  title: string;
  label: string;
  act: Pick<Act, "isActing" | "fault">;
  /** The sentence about a failed request, like "No token was made". */
  failed: string;
  isDangerous?: boolean;
  isIncomplete?: boolean;
  onSubmit: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}

export function FormDialog(props: FormDialogProps) {
  const { title, label, act, failed, isDangerous, isIncomplete = false, onSubmit, onClose, children } = props;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!isIncomplete) void onSubmit();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" noValidate onSubmit={submit}>
        {children}
        {act.fault && <FaultNotice what={failed} fault={act.fault} />}
        <div class="row">
          <button
            type="submit"
            class={isDangerous ? "danger" : "primary"}
            disabled={act.isActing || isIncomplete}
          >
            {act.isActing ? "Sending …" : label}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface ConfirmButtonProps {
  label: string;
  title: string;
  /** The consequences of the action, as text. */
  children: ComponentChildren;
  request: { method: RequestMethod; path: PathOf<RequestMethod>; body?: unknown };
  /** The message after success. */
  done: string;
  onDone?: (() => void) | undefined;
  isDangerous?: boolean;
  isPrimary?: boolean;
}

export function ConfirmButton(props: ConfirmButtonProps) {
  const look = props.isDangerous ? "danger" : props.isPrimary ? "primary" : undefined;
  return (
    <DialogButton label={props.label} look={look}>
      {(close) => <ConfirmDialog {...props} onClose={close} />}
    </DialogButton>
  );
}

function ConfirmDialog(props: ConfirmButtonProps & { onClose: () => void }) {
  const { title, label, children, request, done, onDone, onClose, isDangerous } = props;
  const { notify } = usePage();
  const act = useAct();
  const agree = async () => {
    if ((await act.run(request.method, request.path, request.body)) === null) return;
    onClose();
    notify(done);
    onDone?.();
  };
  return (
    <FormDialog
      title={title}
      label={label}
      failed="That failed"
      act={act}
      isDangerous={isDangerous === true}
      onSubmit={agree}
      onClose={onClose}
    >
      {children}
    </FormDialog>
  );
}

interface Act {
  isActing: boolean;
  /** The fault of the last request. null if it succeeded or no request was sent. */
  fault: RequestFault | null;
  /** Sends a request. Resolves with null if the request fails (`fault` has the error) or another request is running. */
  run: <T>(method: RequestMethod, path: PathOf<RequestMethod>, body?: unknown) => Promise<T | null>;
}

/** Returns a function that sends one request at a time. T is typically `true` for an answer without content. */
export function useAct(): Act {
  const { ask } = usePage();
  const [isActing, setActing] = useState(false);
  const [fault, setFault] = useState<RequestFault | null>(null);
  return {
    isActing,
    fault,
    async run<T>(method: RequestMethod, path: PathOf<RequestMethod>, body?: unknown) {
      if (isActing) return null;
      setActing(true);
      setFault(null);
      const answer = await ask<T>(method, path, body === undefined ? {} : { body });
      setActing(false);
      if (answer.ok) return answer.value ?? (true as T);
      setFault(answer.error);
      return null;
    },
  };
}
