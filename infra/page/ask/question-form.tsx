// Draws the form of a question, whose first values are those of the address. Only its button asks.
import { useState } from "preact/hooks";
import { hrefOf } from "../base/places.ts";
import { sentenceOf } from "../base/words.ts";
import { usePage } from "../page.ts";
import { Check, Choice, Field } from "../parts/form.tsx";
import { type Asks, textOf } from "./asking.ts";
import {
  fieldsOf,
  missingIn,
  type OwnRow,
  ownRowIn,
  parameterKey,
  parametersOf,
  type QuestionField,
  rowOf,
} from "./question-fields.ts";

type Values = Readonly<Record<string, string>>;

interface QuestionFormProps {
  name: string;
  asks: Asks;
}

/** Draws the form. The parameters of a question of the machine's owner are known once the machine has listed them. */
export function QuestionForm({ name, asks }: QuestionFormProps) {
  const listed = asks.answerOf(LIST)?.state.value;
  const row = rowOf(name) ?? (listed?.end && ownRowIn(textOf(listed), name));
  if (row) return <KnownForm name={name} asks={asks} row={row} />;
  return (
    <div class="stack">
      <h2 id="question-title">
        <code>{name}</code>
      </h2>
      <p>The machine lists the parameters of this question.</p>
      <div class="row">
        <button
          type="button"
          class="primary"
          disabled={!asks.on.includes(LIST) || (listed && !listed.end)}
          onClick={() => asks.ask(LIST, { name: LIST, parameters: {} })}
        >
          Ask for its parameters
        </button>
      </div>
      {listed?.end && (
        <p class="quiet">{sentenceOf(listed.end.text ?? "The machine’s list does not have it")}</p>
      )}
    </div>
  );
}

/** The question that lists the questions of a machine. */
const LIST = "questions";

function KnownForm({ name, asks, row }: QuestionFormProps & { row: OwnRow }) {
  const { route, go } = usePage();
  const fields = fieldsOf(row.usage);
  const { rest } = route.value;
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(
      fields.map((field) => [field.name, rest.get(parameterKey(field.name)) ?? field.initial]),
    ),
  );
  const [missing, setMissing] = useState<readonly string[]>([]);
  const asking = asks.answerOf(name);
  const fault = asking?.state.value.end?.fault;
  const ask = (event: SubmitEvent) => {
    event.preventDefault();
    const lacking = missingIn(fields, values);
    setMissing(lacking);
    if (lacking.length > 0) return;
    const parameters = parametersOf(fields, values);
    go(hrefOf({ machine: asks.machine }, addressOf(rest, name, parameters)), "replace");
    asks.ask(name, { name, parameters });
  };
  return (
    <form class="stack" noValidate onSubmit={ask}>
      <h2 id="question-title">{name === "diagnosis" ? "What is wrong?" : <code>{name}</code>}</h2>
      <p class="quiet">
        Answers with {sentenceOf(row.help)} It takes {row.seconds} s at most.
      </p>
      {fields.length > 0 && (
        <div class="row fields">
          {fields.map((field) => (
            <Input
              key={field.name}
              field={field}
              values={values}
              fault={
                missing.includes(field.name)
                  ? "a value"
                  : fault?.pointer === `/parameters/${field.name}`
                    ? fault.message
                    : undefined
              }
              onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
            />
          ))}
        </div>
      )}
      <div class="row">
        <button type="submit" class="primary" disabled={!asks.on.includes(name)}>
          Ask {asks.machine}
        </button>
      </div>
    </form>
  );
}

/** Returns the parameters of the address. A searched text may be a secret, and is left out. */
function addressOf(
  rest: ReadonlyMap<string, string>,
  name: string,
  parameters: Values,
): Record<string, string> {
  const others = [...rest].filter(([key]) => !key.startsWith(parameterKey("")));
  const own = Object.entries(parameters).filter(([key]) => key !== "grep");
  return {
    ...Object.fromEntries(others),
    question: name,
    ...Object.fromEntries(own.map(([key, value]) => [parameterKey(key), value])),
  };
}

interface InputProps {
  field: QuestionField;
  values: Values;
  fault: string | undefined;
  onChange: (value: string) => void;
}

function Input({ field, values, fault, onChange }: InputProps) {
  const { name, label, hint, kind, choices = [], bounds, instead } = field;
  const value = values[name] ?? "";
  if (kind === "check")
    return <Check label={label} value={value === "yes"} onChange={(isOn) => onChange(isOn ? "yes" : "")} />;
  if (kind === "choice")
    return (
      <Choice label={label} value={value} choices={choices.map((each) => [each, each])} onChange={onChange} />
    );
  return (
    <Field
      label={label}
      hint={bounds ? `${bounds[0]} to ${bounds[1]}.` : (hint ?? "")}
      fault={fault}
      value={value}
      onChange={onChange}
      isDisabled={instead.some((other) => values[other] === "yes")}
      {...(kind === "number" && { type: "number" })}
    />
  );
}
