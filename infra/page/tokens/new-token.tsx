// The form for a join token.
import { useState } from "preact/hooks";
import type { MintedToken } from "../../../shared/protocol/operator-answers.ts";
import { Check, Choice, Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { useAct } from "../parts/use-act.ts";
import { type FieldFault, type TokenForm, tokenWish } from "./token-wish.ts";

const EMPTY: TokenForm = {
  names: "",
  uses: "1",
  expiresInSeconds: "3600",
  isRejoin: false,
  roles: "",
  labels: "",
  taints: "",
  isWithoutFactsOnlyTaint: false,
};
const EXPIRIES = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
  ["2592000", "30 days"],
] as const;

interface FieldsProps {
  form: TokenForm;
  set: (change: Partial<TokenForm>) => void;
  faultOf: (field: keyof TokenForm) => string | undefined;
}

export function NewToken({ onClose, onMade }: { onClose: () => void; onMade: (token: MintedToken) => void }) {
  const [form, setForm] = useState(EMPTY);
  const [wrong, setWrong] = useState<FieldFault | null>(null);
  const act = useAct();
  const set = (change: Partial<TokenForm>) => setForm((before) => ({ ...before, ...change }));
  const faultOf = (field: keyof TokenForm) => (wrong?.field === field ? wrong.message : undefined);
  const submit = async () => {
    const wish = tokenWish(form);
    setWrong(wish.ok ? null : wish.error);
    const token = wish.ok ? await act.run<MintedToken>("POST", "/v1/tokens", wish.value) : null;
    if (token) onMade(token);
  };
  return (
    <FormDialog
      title="New join token"
      label="Make the token"
      failed="No token was made"
      act={act}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field
        label="Names"
        hint="One Node’s name, or a pattern: * stands for anything without a dot."
        fault={faultOf("names")}
        value={form.names}
        onChange={(names) => set({ names })}
        placeholder="edge-*"
      />
      <div class="row fields">
        <Field
          label="Machines"
          hint="How many may enrol with it."
          fault={faultOf("uses")}
          value={form.isRejoin ? "1" : form.uses}
          isDisabled={form.isRejoin}
          onChange={(uses) => set({ uses })}
        />
        <Choice
          label="Good for"
          value={form.expiresInSeconds}
          choices={EXPIRIES}
          onChange={(expiresInSeconds) => set({ expiresInSeconds })}
        />
      </div>
      <Check
        label="Rejoin: take the name over from the machine that has it"
        isOn={form.isRejoin}
        onChange={(isRejoin) => set({ isRejoin })}
      />
      <OfItsNodes form={form} set={set} faultOf={faultOf} />
    </FormDialog>
  );
}

/** What the Nodes of its machines are given. */
function OfItsNodes({ form, set, faultOf }: FieldsProps) {
  return (
    <details>
      <summary>Roles, labels, taints</summary>
      <div class="stack">
        <Field
          label="Roles"
          hint="For kubectl’s column ROLES. Empty: those of the deployment."
          value={form.roles}
          onChange={(roles) => set({ roles })}
        />
        <Field
          label="Labels"
          hint="key=value in each line; these win over the machine’s own."
          fault={faultOf("labels")}
          value={form.labels}
          onChange={(labels) => set({ labels })}
          isLong
        />
        <Field
          label="Taints"
          hint="key=value:NoSchedule in each line; its Nodes are created with them."
          fault={faultOf("taints")}
          value={form.taints}
          onChange={(taints) => set({ taints })}
          isLong
        />
        <Check
          label="Its machines may replace the taint rollcall.dev/facts-only, and so be given pods"
          isOn={form.isWithoutFactsOnlyTaint}
          onChange={(isWithoutFactsOnlyTaint) => set({ isWithoutFactsOnlyTaint })}
        />
      </div>
    </details>
  );
}
