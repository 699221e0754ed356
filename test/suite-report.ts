// Reports to test/suites.ts: writes which test files have begun and ended, and at the end the numbers of the suite.
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

export interface SuiteFigures {
  passed: number;
  /**
   * The number of failed tests and of errors outside of tests: a file that cannot be loaded fails the run without a
   * failed test.
   */
  failed: number;
  /** The skipped tests by file, such as "4 of 12". */
  skipped: Record<string, string>;
  /** The failed tests, such as "test/a.test.ts > situation → outcome: expected 1 to be 2". */
  failures: string[];
}

const firstLine = (errors: readonly Pick<SerializedError, "message">[]) =>
  errors[0]?.message.split("\n", 1)[0] ?? "";

/** A line of the report, which is JSON. */
export type ReportLine = { begun: string } | { ended: string } | { figures: SuiteFigures };

// oxlint-disable-next-line import/no-default-export -- vitest takes a reporter from the default export
export default class SuiteReport implements Reporter {
  readonly #path = process.env["SUITE_REPORT"] ?? "";

  #write(line: ReportLine): void {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }

  onTestModuleStart(file: TestModule): void {
    this.#write({ begun: file.relativeModuleId });
  }

  onTestModuleEnd(file: TestModule): void {
    this.#write({ ended: file.relativeModuleId });
  }

  onTestRunEnd(files: readonly TestModule[], errors: readonly SerializedError[]): void {
    const figures: SuiteFigures = { passed: 0, failed: errors.length, skipped: {}, failures: [] };
    if (errors.length > 0) figures.failures.push(`outside of tests: ${firstLine(errors)}`);
    for (const file of files) {
      const tests = [...file.children.allTests()];
      const states = tests.map((each) => each.result().state);
      const count = (wanted: string) => states.filter((state) => state === wanted).length;
      figures.passed += count("passed");
      figures.failed += count("failed") + file.errors().length;
      const path = relative("", file.moduleId);
      if (file.errors().length > 0) figures.failures.push(`${path}: ${firstLine(file.errors())}`);
      for (const test of tests) {
        const result = test.result();
        if (result.state === "failed")
          figures.failures.push(`${path} > ${test.fullName}: ${firstLine(result.errors)}`);
      }
      if (count("skipped") > 0) figures.skipped[path] = `${count("skipped")} of ${states.length}`;
    }
    this.#write({ figures });
  }
}
