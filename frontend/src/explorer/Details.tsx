// A rule, law or control in full: its exact text, counts and measures, and what else is shown with it.
import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import { MeasuresContext, measureText } from "../components/rules";
import { percent, plural, whole } from "../format";
import type { ControlRow, LawRow, RuleRow } from "../types";
import { sentence } from "./words";

function Row({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Texts({ title, texts }: { title: string; texts: readonly string[] }): JSX.Element | null {
  if (texts.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul class="texts">
        {texts.map((text) => (
          <li key={text}>
            <bdi>{text}</bdi>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function RuleDetails({ rule }: { rule: RuleRow }): JSX.Element {
  const measures = useContext(MeasuresContext);
  return (
    <div class="details">
      <section>
        <h3>Measures</h3>
        <dl class="facts">
          {measures.map((column) => (
            <Row key={column.name} name={sentence(column.label)}>
              {measureText(rule, column, column.percent ? 2 : 3)}
            </Row>
          ))}
          <Row name="Coverage">{percent(rule.n > 0 ? rule.n_antecedent / rule.n : null, 2)}</Row>
        </dl>
      </section>
      <section>
        <h3>Counts</h3>
        <Counts rule={rule} />
      </section>
      {rule.places && (
        <section>
          <h3>Places</h3>
          <p>
            <bdi>{rule.places}</bdi>
          </p>
        </section>
      )}
      <Texts title="Variants" texts={[...rule.likewise, ...rule.also]} />
      <section>
        <h3>Exactly</h3>
        <p class="formal">
          <code>
            <bdi>{rule.formal}</bdi>
          </code>
        </p>
      </section>
      <p class="small muted">
        Rule {rule.id} of the run, key <code>{rule.key}</code>
      </p>
    </div>
  );
}

/** The four counts as a table: both sides, one side, neither. */
function Counts({ rule }: { rule: RuleRow }): JSX.Element {
  const { n, n_antecedent, n_consequent, n_both } = rule;
  return (
    <table class="table counts">
      <caption class="sr-only">Rows by whether the condition and the conclusion hold</caption>
      <thead>
        <tr>
          <td />
          <th scope="col" class="num">conclusion holds</th>
          <th scope="col" class="num">does not</th>
          <th scope="col" class="num">together</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">condition holds</th>
          <td class="num held">{whole(n_both)}</td>
          <td class="num violated">{whole(n_antecedent - n_both)}</td>
          <td class="num">{whole(n_antecedent)}</td>
        </tr>
        <tr>
          <th scope="row">does not</th>
          <td class="num">{whole(n_consequent - n_both)}</td>
          <td class="num">{whole(n - n_antecedent - n_consequent + n_both)}</td>
          <td class="num">{whole(n - n_antecedent)}</td>
        </tr>
        <tr>
          <th scope="row">together</th>
          <td class="num">{whole(n_consequent)}</td>
          <td class="num">{whole(n - n_consequent)}</td>
          <td class="num">{whole(n)}</td>
        </tr>
      </tbody>
    </table>
  );
}

export function LawDetails({ law }: { law: LawRow }): JSX.Element {
  return (
    <div class="details">
      <section>
        <h3>With its figures</h3>
        <p>
          <bdi>{sentence(law.in_full)}</bdi>
        </p>
      </section>
      <section>
        <h3>Counts</h3>
        <dl class="facts">
          <Row name="Held">
            {whole(law.held)} of {plural(law.rows, "row")} ({percent(law.share, 2)})
          </Row>
          {law.later_share !== null && <Row name="In later time">{percent(law.later_share, 2)}</Row>}
          <Row name="Places">
            {whole(law.places_held)} of {whole(law.places)}
          </Row>
        </dl>
      </section>
      <Texts title="Exceptions" texts={law.exceptions} />
      <p class="small muted">
        Law {law.id} of the run, key <code>{law.key}</code>
      </p>
    </div>
  );
}

export function ControlDetails({ control }: { control: ControlRow }): JSX.Element {
  return (
    <div class="details">
      <dl class="facts">
        <Row name="Switches">
          {whole(control.explained)} of {whole(control.switches)} explained
        </Row>
        <Row name="Actuator">
          <bdi>{control.actuator}</bdi>
        </Row>
        <Row name="Sensor">
          <bdi>{control.sensor}</bdi>
        </Row>
      </dl>
      <p class="small muted">
        {control.keys.length > 1 ? "Controls" : "Control"} {control.members.join(", ")} of the run, {control.keys.length > 1 ? "keys" : "key"} <code>{control.keys.join(" ")}</code>
      </p>
    </div>
  );
}
