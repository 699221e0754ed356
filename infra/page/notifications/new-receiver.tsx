// The form for a receiver. Its signing secret is shown once.
import { useState } from "preact/hooks";
import type { ChangedReceiver } from "../../../shared/protocol/receiver-answers.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { useAct } from "../parts/use-act.ts";

const FORMATS = [
  ["json", "JSON, signed as Standard Webhooks say"],
  ["slack", "Slack, and what takes its format"],
  ["alertmanager", "Alertmanager"],
] as const;

const EMPTY = { name: "", url: "", format: "json", names: "", selector: "", authorization: "" };
type ReceiverForm = typeof EMPTY;

export function NewReceiver({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const [form, setForm] = useState(EMPTY);
  const [made, setMade] = useState<ChangedReceiver | null>(null);
  const act = useAct();
  const set = (change: Partial<ReceiverForm>) => setForm((before) => ({ ...before, ...change }));
  const submit = async () => {
    const { authorization, ...rest } = form;
    const body = { ...rest, ...(authorization !== "" && { authorization }) };
    const receiver = await act.run<ChangedReceiver>("POST", "/v1/receivers", body);
    if (!receiver) return;
    onMade();
    if (receiver.secret === null) onClose();
    else setMade(receiver);
  };
  if (made) return <SigningSecret receiver={made} onClose={onClose} />;
  return (
    <FormDialog
      title="New receiver"
      label="Make the receiver"
      failed="It was not made"
      act={act}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        label="Name"
        hint="Lower case letters, digits and hyphens."
        value={form.name}
        onChange={(name) => set({ name })}
      />
      <Field
        label="Address"
        hint="The webhook’s, with https."
        value={form.url}
        onChange={(url) => set({ url })}
        placeholder="https://hooks.example.com/…"
      />
      <Choice label="Format" value={form.format} choices={FORMATS} onChange={(format) => set({ format })} />
      <OfSomeMachines form={form} set={set} />
    </FormDialog>
  );
}

interface OfSomeMachinesProps {
  form: ReceiverForm;
  set: (change: Partial<ReceiverForm>) => void;
}

function OfSomeMachines({ form, set }: OfSomeMachinesProps) {
  return (
    <details>
      <summary>Of some machines only; authorization</summary>
      <div class="stack">
        <Field
          label="Names"
          hint="A name, or a pattern such as edge-*."
          value={form.names}
          onChange={(names) => set({ names })}
        />
        <Field
          label="Labels"
          hint="A selector, as kubectl takes it: site=berlin,tier!=gpu."
          value={form.selector}
          onChange={(selector) => set({ selector })}
        />
        <Field
          label="Authorization"
          hint="The header that the receiver asks for; it is never shown again."
          value={form.authorization}
          onChange={(authorization) => set({ authorization })}
          isSecret
        />
      </div>
    </details>
  );
}

function SigningSecret({ receiver, onClose }: { receiver: ChangedReceiver; onClose: () => void }) {
  const secret = receiver.secret ?? "";
  return (
    <Dialog title="Its signing secret, shown this once" onClose={onClose}>
      <div class="stack">
        <p>
          {receiver.name} checks with it that a letter is from here. To have another one, remove the receiver
          and make it anew, or use <code>rollcall receivers</code>.
        </p>
        <pre class="breaks">{secret}</pre>
        <CopyButton text={secret} of="the signing secret" />
      </div>
    </Dialog>
  );
}
