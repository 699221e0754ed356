// Fields of forms: each with its label, its hint, and what is wrong in it.
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: string;
  /** What it expects, where what is in it is none. */
  fault?: string | undefined;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  /** Several lines. */
  isLong?: boolean;
  isDisabled?: boolean;
  /** What is typed is not shown. */
  isSecret?: boolean;
}

export function Field(props: FieldProps) {
  const { label, hint, fault, value, onChange, placeholder, isLong, isDisabled, isSecret } = props;
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
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isLong ? (
        <textarea {...shared} rows={3} onInput={({ currentTarget }) => onChange(currentTarget.value)} />
      ) : isSecret ? (
        <input {...shared} type="password" onInput={({ currentTarget }) => onChange(currentTarget.value)} />
      ) : (
        <input {...shared} type="text" onInput={({ currentTarget }) => onChange(currentTarget.value)} />
      )}
      {(hint || fault) && (
        <p id={`${id}-hint`} class={fault ? "wrong" : "quiet"}>
          {fault ? `Expected: ${fault}.` : hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  /** Each value, and how it is called. */
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
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}

export function Check({ label, isOn, onChange }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
