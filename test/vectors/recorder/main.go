// Records what Kubernetes' own code does with the cases of test/vectors: for each case, runs the function that the file's
// `source` names with the case's `given`, and writes the outcome as `want`. Usage: recorder -version v1.37.2 IN OUT
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// object is a JSON object. Its keys are written in alphabetical order.
type object = map[string]any

// family runs one case. It panics with notRun for a case that this program cannot run, whose `want` stays.
type family func(given object) any

var errNotRun = errors.New("this computer cannot run the case")

func notRun() { panic(errNotRun) }

type recordedCase struct {
	Name  json.RawMessage `json:"name"`
	Given json.RawMessage `json:"given"`
	Want  json.RawMessage `json:"want"`
}

// before is the former `want` of the case that runs; nil if that is no object.
var before object

// listedCase is a case of a file whose cases are a list in Kubernetes.
type listedCase struct {
	name  string
	given object
	want  any
}

// lists has the function of each file whose cases are a list in Kubernetes, by the file's name.
var lists = map[string]func() []listedCase{}

// families has the function of each file, by the file's name.
var families = map[string]family{}

func main() {
	version := flag.String("version", "", "the release, such as v1.37.2")
	flag.Parse()
	if flag.NArg() != 2 || *version == "" {
		fmt.Fprintln(os.Stderr, "usage: recorder -version v1.37.2 IN OUT")
		os.Exit(2)
	}
	klog.SetLogger(logr.Discard())
	failed := false
	for _, path := range must(filepath.Glob(filepath.Join(flag.Arg(0), "*.json"))) {
		failed = !recordFile(path, flag.Arg(1), *version) || failed
	}
	if failed {
		os.Exit(1)
	}
}

// recordFile writes one file, and prints what it did. Returns false if a case failed.
func recordFile(path, out, version string) bool {
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	text := string(must(os.ReadFile(path)))
	run := families[name]
	if run == nil && lists[name] == nil || strings.Contains(text[:min(len(text), 40)], `"legacy: `) {
		fmt.Printf("%-28s not recorded\n", name)
		return true
	}
	lines := strings.Split(text, "\n")
	recorded, kept, differ, failures := 0, 0, 0, 0
	for at, line := range lines {
		if run != nil && !strings.HasPrefix(line, `{"name":`) && !strings.HasPrefix(line, `{"given":`) {
			lines[at] = ofRelease(line, version)
			continue
		}
		if run == nil {
			continue
		}
		tail := ""
		if strings.HasSuffix(line, ",") {
			line, tail = line[:len(line)-1], ","
		}
		var given recordedCase
		check(json.Unmarshal([]byte(line), &given))
		want, err := outcome(name, run, given)
		switch {
		case errors.Is(err, errNotRun):
			kept++
			continue
		case err != nil:
			failures++
			fmt.Printf("%-28s %s: %v\n", name, given.Name, err)
			continue
		}
		recorded++
		if !bytes.Equal(want, given.Want) {
			differ++
		}
		given.Want = want
		lines[at] = lineOf(given, strings.HasPrefix(line, `{"given":`)) + tail
	}
	lines = withOwnCases(name, lines, version)
	check(os.WriteFile(filepath.Join(out, name+".json"), []byte(strings.Join(lines, "\n")), 0o644))
	fmt.Printf("%-28s %d recorded, %d other than before, %d kept, %d failed\n", name, recorded, differ, kept, failures)
	return failures == 0
}

// ofRelease replaces the release in a file's `source`. `doc` stays.
func ofRelease(line, version string) string {
	if !strings.HasPrefix(line, `"source":`) && !strings.HasPrefix(line, `{"source":`) {
		return line
	}
	source, rest, _ := strings.Cut(line, `","doc"`)
	source = regexp.MustCompile(`v1\.\d+\.\d+`).ReplaceAllString(source, version)
	source = regexp.MustCompile(`v0\.\d+\.\d+`).ReplaceAllString(source, "v0"+strings.TrimPrefix(version, "v1"))
	if rest == "" {
		return source
	}
	return source + `","doc"` + rest
}

// outcome runs one case and returns its `want` as JSON.
func outcome(name string, run family, of recordedCase) (want json.RawMessage, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			if e, ok := thrown.(error); ok && errors.Is(e, errNotRun) {
				err = errNotRun
				return
			}
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	var given object
	check(json.Unmarshal(of.Given, &given))
	before, _ = as[any](of.Want).(object)
	return encoded(run(given)), nil
}

func lineOf(c recordedCase, givenFirst bool) string {
	if givenFirst {
		return fmt.Sprintf(`{"given":%s,"name":%s,"want":%s}`, c.Given, c.Name, c.Want)
	}
	return fmt.Sprintf(`{"name":%s,"given":%s,"want":%s}`, c.Name, c.Given, c.Want)
}

// withOwnCases adds the cases of a file whose cases are a list in Kubernetes, in place of this release's former ones.
func withOwnCases(name string, lines []string, version string) []string {
	list := lists[name]
	if list == nil {
		return lines
	}
	release := version[1:strings.LastIndex(version, ".")]
	prefix := fmt.Sprintf(`{"name":"%s `, release)
	end := slices.Index(lines, "]")
	var head, cases []string
	for _, line := range lines[:end] {
		switch {
		case strings.HasPrefix(line, prefix):
		case strings.HasPrefix(line, `{"name":`):
			cases = append(cases, strings.TrimSuffix(line, ","))
		default:
			head = append(head, line)
		}
	}
	for _, each := range list() {
		given := object{"release": release, "name": each.name}
		maps.Copy(given, each.given)
		key := encoded(release + " " + each.name)
		cases = append(cases, lineOf(recordedCase{Name: key, Given: encoded(given), Want: encoded(each.want)}, false))
	}
	slices.Sort(cases)
	head = append(head, strings.Split(strings.Join(cases, ",\n"), "\n")...)
	return append(head, lines[end:]...)
}

// encoded returns compact JSON without HTML escapes.
func encoded(value any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(value))
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
