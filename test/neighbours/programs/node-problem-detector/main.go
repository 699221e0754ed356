// Runs the monitors of node-problem-detector on configuration files, and prints each status as a line of JSON.
// Usage: node-problem-detector (log|plugin)=FILE …
package main

import (
	"encoding/json"
	"os"
	"strings"

	"k8s.io/node-problem-detector/pkg/custompluginmonitor"
	"k8s.io/node-problem-detector/pkg/systemlogmonitor"
	"k8s.io/node-problem-detector/pkg/types"
)

var kinds = map[string]func(string) types.Monitor{
	"log":    systemlogmonitor.NewLogMonitorOrDie,
	"plugin": custompluginmonitor.NewCustomPluginMonitorOrDie,
}

func main() {
	statuses := make(chan *types.Status)
	for _, argument := range os.Args[1:] {
		kind, path, _ := strings.Cut(argument, "=")
		output, err := kinds[kind](path).Start()
		if err != nil {
			panic(err)
		}
		go func() {
			for status := range output {
				statuses <- status
			}
		}()
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for status := range statuses {
		if err := encoder.Encode(status); err != nil {
			panic(err)
		}
	}
}
