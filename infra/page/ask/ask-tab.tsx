// Draws the tab in which an operator asks a machine: its questions, the form of one, and its answer.
import type { QuestionsAnswer } from "../../../shared/protocol/operator-answers.ts";
import { machinePath } from "../base/api.ts";
import { later, nowMs } from "../base/clock.ts";
import { withRest } from "../base/places.ts";
import { sentenceOf } from "../base/words.ts";
import { usePage } from "../page.ts";
import { type Answer, useAgainOnChange, useAnswer } from "../parts/answer.tsx";
import { MarkedText } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import { Notice } from "../parts/notice.tsx";
import { SideNav } from "../parts/side-nav.tsx";
import { AnswerCard } from "./answer-card.tsx";
import { type Answers, Asking, type Asks } from "./asking.ts";
import { DiagnosisAnswer } from "./diagnosis-answer.tsx";
import { parameterKey, rowOf } from "./question-fields.ts";
import { QuestionForm } from "./question-form.tsx";

interface AskTabProps {
  name: string;
  /** A text that changes when the machine changes. */
  change: string;
  /** The answers so far. They stay while the operator sees another tab of the machine. */
  answers: Answers;
}

export function AskTab(props: AskTabProps) {
  const { session } = usePage();
  if (session.mayAsk()) return <Questions {...props} />;
  return (
    <Notice kind="warning">
      <p>Your role may not ask a machine: an operator with the role operator or admin may.</p>
    </Notice>
  );
}

function Questions({ name, change, answers }: AskTabProps) {
  const { open, route } = usePage();
  const list = useAnswer<QuestionsAnswer>(machinePath(name, "/questions"));
  useAgainOnChange(list, change);
  // The last list stays while the machine cannot be asked, but no question of it can be asked.
  const known = inOrder(list.value?.on ?? []);
  const on = list.fault ? [] : known;
  const question = route.value.rest.get("question") ?? known[0];
  const asks: Asks = {
    machine: name,
    on,
    answerOf: (key) => answers.value.get(key),
    ask(key, asked, proof) {
      answers.value.get(key)?.stop();
      answers.value = new Map(answers.value).set(key, new Asking(name, asked, { open, nowMs, later, proof }));
    },
  };
  return (
    <>
      <Unasked list={list} name={name} question={question} />
      {known.length > 0 && <WithReport name={name} seconds={list.value?.withinSeconds} />}
      {question !== undefined && known.length > 0 && (
        <div class="machine-body">
          <QuestionLinks names={known} current={question} />
          <section class="card machine-section" aria-labelledby="question-title">
            <QuestionForm key={question} name={question} asks={asks} />
            <LatestAnswer name={question} asks={asks} />
          </section>
        </div>
      )}
    </>
  );
}

/** Returns the names in the order of the documentation. Names that this page does not know come last. */
function inOrder(names: readonly string[]): string[] {
  return [...names].toSorted((a, b) => placeOf(a) - placeOf(b));
}
const placeOf = (name: string) => rowOf(name)?.place ?? Infinity;

interface UnaskedProps {
  list: Answer<QuestionsAnswer>;
  name: string;
  question: string | undefined;
}

/** Draws the reason why the machine, or the question, cannot be asked now. */
function Unasked({ list: { value, fault, isLoading, again }, name, question }: UnaskedProps) {
  if (!fault && value === null) return <p class="quiet">Loading …</p>;
  const why = fault
    ? `${name} cannot be asked now: ${sentenceOf(fault.message)}`
    : value?.on.length === 0
      ? `${name} answers no questions now: its owner has turned none on, its shim is too old, or its socket is new. \`--questions\` of its shim turns questions on (docs/questions.md).`
      : question !== undefined && !value?.on.includes(question)
        ? `${name} does not answer ${question} now: \`--questions\` of its shim names the questions that it answers (docs/questions.md).`
        : null;
  if (why === null) return null;
  return (
    <Notice kind="warning">
      <p>
        <MarkedText text={why} />
      </p>
      <button type="button" aria-disabled={isLoading} onClick={again}>
        Check again
      </button>
    </Notice>
  );
}

/** Draws when a machine without a socket takes a question. */
function WithReport({ name, seconds }: { name: string; seconds: number | undefined }) {
  if (seconds === undefined) return null;
  return (
    <p class="quiet">
      {name} reports over HTTP: it takes a question with its next report, within {seconds} s. A bundle needs a
      socket.
    </p>
  );
}

function QuestionLinks({ names, current }: { names: readonly string[]; current: string }) {
  const route = usePage().route.value;
  const former = [...route.rest.keys()].filter((key) => key.startsWith(parameterKey("")));
  const without = Object.fromEntries(former.map((key) => [key, undefined]));
  return (
    <SideNav title="Questions">
      <ul>
        {names.map((name) => (
          <li key={name}>
            <Link
              href={withRest(route, { ...without, question: name })}
              isCurrent={name === current}
              title={rowOf(name)?.help}
            >
              {titleOf(name)}
            </Link>
          </li>
        ))}
      </ul>
    </SideNav>
  );
}

const titleOf = (name: string) => (name === "diagnosis" ? "What is wrong?" : name);

function LatestAnswer({ name, asks }: { name: string; asks: Asks }) {
  const asking = asks.answerOf(name);
  if (!asking) return null;
  const again = (proof?: string) => asks.ask(name, asking.question, proof);
  return name === "diagnosis" ? (
    <DiagnosisAnswer asking={asking} asks={asks} again={again} />
  ) : (
    <AnswerCard asking={asking} again={again} />
  );
}
