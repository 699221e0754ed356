// Draws the answer to `diagnosis`: each fault with its cause, and the question that shows more, with its answer below.
import { AnswerCard } from "./answer-card.tsx";
import { type Asking, type Asks, textOf } from "./asking.ts";
import { type DiagnosisFinding, diagnosisIn, type FindingTodo } from "./findings.ts";
import { questionText } from "./question-fields.ts";

interface DiagnosisAnswerProps {
  asking: Asking;
  asks: Asks;
  again: (proof?: string) => void;
}

export function DiagnosisAnswer({ asking, asks, again }: DiagnosisAnswerProps) {
  const state = asking.state.value;
  const { end } = state;
  const { findings, others } = diagnosisIn(textOf(state));
  return (
    <AnswerCard asking={asking} again={again}>
      {findings.length > 0 ? (
        <ul class="ask-findings">
          {findings.map((finding, index) => (
            <Finding key={index} finding={finding} asks={asks} />
          ))}
        </ul>
      ) : (
        end !== null && end.text === null && <p>The machine finds no fault in itself.</p>
      )}
      {others.map((line, index) => (
        <p key={index} class="quiet ask-other">
          {line}
        </p>
      ))}
    </AnswerCard>
  );
}

const LEVELS = { fail: "Fault", warn: "Warning" } as const;

function Finding({
  finding: { level, check, message, todo },
  asks,
}: {
  finding: DiagnosisFinding;
  asks: Asks;
}) {
  return (
    <li class={`notice ask-${level}`}>
      <p>
        <strong>
          {LEVELS[level]}: {check}
        </strong>{" "}
        {message}
      </p>
      {todo && <Todo todo={todo} asks={asks} />}
    </li>
  );
}

function Todo({ todo, asks }: { todo: FindingTodo; asks: Asks }) {
  if (todo.kind === "text") return <p>→ {todo.text}</p>;
  const text = questionText(todo);
  const key = `→ ${text}`;
  const asking = asks.answerOf(key);
  const ask = (proof?: string) => asks.ask(key, { name: todo.name, parameters: todo.parameters }, proof);
  if (asking) return <AnswerCard asking={asking} again={ask} />;
  if (!asks.on.includes(todo.name))
    return (
      <p class="quiet">
        <code class="wrap">{text}</code> shows more, but the machine does not answer it now.
      </p>
    );
  return (
    <button type="button" class="wrap" onClick={() => ask()}>
      Ask <code>{text}</code>
    </button>
  );
}
