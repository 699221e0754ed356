// Reports to test/suites.ts: writes which test files have begun and ended, and at the end the numbers of the suite.
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

export interface SuiteFigures {
  passed: number;
  /**
   * The number of failed tests and of errors outside of tests: a file that cannot be loaded fails the run without a
   * failed test.
   */
  failed: number;
  /** The skipped tests by file, such as "4 of 12". */
  skipped: Record<string, string>;
}

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

  onTestRunEnd(files: readonly TestModule[], errors: readonly unknown[]): void {
    const figures: SuiteFigures = { passed: 0, failed: errors.length, skipped: {} };
    for (const file of files) {
      const states = [...file.children.allTests()].map((each) => each.result().state);
      const count = (wanted: string) => states.filter((state) => state === wanted).length;
      figures.passed += count("passed");
      figures.failed += count("failed") + file.errors().length;
      if (count("skipped") > 0)
        figures.skipped[relative("", file.moduleId)] = `${count("skipped")} of ${states.length}`;
    }
    this.#write({ figures });
  }
}
