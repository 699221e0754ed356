// The form for a mute, which begins at once.
import { useState } from "preact/hooks";
import { nowMs } from "../base/clock.ts";
import { Choice, Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { useAct } from "../parts/use-act.ts";

const HOUR_MS = 3_600_000;
const DURATIONS = [
  ["1", "1 hour"],
  ["4", "4 hours"],
  ["24", "1 day"],
  ["168", "7 days"],
] as const;

export function NewMute({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const [form, setForm] = useState({ names: "", selector: "", comment: "" });
  const [hours, setHours] = useState("1");
  const act = useAct();
  const set = (change: Partial<typeof form>) => setForm((before) => ({ ...before, ...change }));
  const submit = async () => {
    const until = new Date(nowMs() + Number(hours) * HOUR_MS).toISOString();
    if ((await act.run("POST", "/v1/mutes", { ...form, until })) === null) return;
    onMade();
    onClose();
  };
  return (
    <FormDialog
      title="New mute"
      label="Mute"
      failed="It was not made"
      act={act}
      onSubmit={submit}
      onClose={onClose}
    >
      <p>Nobody is told of these machines while it lasts. Their state is shown all the same.</p>
      <Field
        label="Names"
        hint="A name, or a pattern such as edge-*; empty: all."
        value={form.names}
        onChange={(names) => set({ names })}
      />
      <Field
        label="Labels"
        hint="A selector: site=berlin; empty: all."
        value={form.selector}
        onChange={(selector) => set({ selector })}
      />
      <Choice label="For" value={hours} choices={DURATIONS} onChange={setHours} />
      <Field label="Why" value={form.comment} onChange={(comment) => set({ comment })} />
    </FormDialog>
  );
}
