// Plays a small apiserver behind client-go's clients, and records each request with its answer.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// server stores objects by the path of their resource and their name. It answers as the next of `outcomes` says.
type server struct {
	objects  map[string]object
	outcomes []any
	calls    []any
	version  int
	uids     int
	// brief leaves the bodies of successful answers out of the calls.
	brief bool
	// lastAt is the time of the last request or taking; sleeps has the waits before requests, in simulated time.
	lastAt time.Time
	sleeps []any
}

func newServer() *server {
	return &server{objects: map[string]object{}, version: 100, lastAt: time.Now(), sleeps: []any{}}
}

// client returns a client without a limit of its own requests.
func (s *server) client() *kubernetes.Clientset {
	config := &rest.Config{Host: "http://apiserver", Transport: s, QPS: -1}
	config.ContentType = "application/json"
	return must(kubernetes.NewForConfig(config))
}

func (s *server) takeCalls() []any {
	calls := s.calls
	s.calls = nil
	if calls == nil {
		return []any{}
	}
	return calls
}

// takeSleeps returns the waits before the requests since the last call, in milliseconds.
func (s *server) takeSleeps() []any {
	sleeps := s.sleeps
	s.lastAt, s.sleeps = time.Now(), []any{}
	return sleeps
}

// put stores an object as another client's write does, without a new version.
func (s *server) put(resource, kind, apiVersion string, raw any) {
	stored := raw.(object)
	stored["kind"], stored["apiVersion"] = kind, apiVersion
	s.objects[resource+"/"+stored["metadata"].(object)["name"].(string)] = stored
}

// bump gives an object a new version.
func (s *server) bump(stored object) object {
	s.version++
	stored["metadata"].(object)["resourceVersion"] = fmt.Sprint(s.version)
	return stored
}

func status(code int, reason, message string) object {
	return object{
		"apiVersion": "v1", "kind": "Status", "metadata": object{}, "status": "Failure",
		"code": code, "reason": reason, "message": message,
	}
}

type request struct{ verb, resource, namespace, name, subresource string }

// parsed reads a request's path: /api/v1/nodes/NAME/status, /apis/GROUP/VERSION/namespaces/NS/leases/NAME.
func parsed(of *http.Request) request {
	parts := strings.Split(strings.Trim(of.URL.Path, "/"), "/")
	parts = parts[map[string]int{"api": 2, "apis": 3}[parts[0]]:]
	var found request
	if parts[0] == "namespaces" {
		found.namespace, parts = parts[1], parts[2:]
	}
	for at, target := range []*string{&found.resource, &found.name, &found.subresource} {
		if at < len(parts) {
			*target = parts[at]
		}
	}
	verbs := map[string]string{"POST": "create", "GET": "get", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
	found.verb = verbs[of.Method]
	return found
}

// RoundTrip answers one request.
func (s *server) RoundTrip(of *http.Request) (*http.Response, error) {
	asked := parsed(of)
	if waited := time.Since(s.lastAt).Milliseconds(); waited > 0 {
		s.sleeps = append(s.sleeps, waited)
	}
	s.lastAt = time.Now()
	noted := object{
		"verb": asked.verb, "resource": asked.resource, "name": asked.name, "subresource": asked.subresource,
	}
	if asked.namespace != "" {
		noted["namespace"] = asked.namespace
	}
	if query := of.URL.RawQuery; query != "" {
		noted["query"] = query
	}
	var body []byte
	if of.Body != nil {
		body = bytes.TrimSpace(must(io.ReadAll(of.Body)))
		noted["body"], noted["contentType"] = json.RawMessage(body), of.Header.Get("Content-Type")
	}
	outcome := any("ok")
	if len(s.outcomes) > 0 {
		outcome, s.outcomes = s.outcomes[0], s.outcomes[1:]
	}
	if forced, ok := outcome.(object); ok && forced["network"] != nil {
		s.calls = append(s.calls, object{"request": noted, "response": object{"networkError": forced["network"]}})
		return nil, errors.New(forced["network"].(string))
	}
	code, answer := 0, object(nil)
	if forced, ok := outcome.(object); ok {
		code = int(forced["code"].(float64))
		answer = status(code, text(forced["reason"]), text(forced["message"]))
	} else {
		code, answer = s.act(asked, body)
	}
	response := object{"code": code}
	if code >= 300 || !s.brief {
		response["body"] = json.RawMessage(encoded(answer))
	}
	s.calls = append(s.calls, object{"request": noted, "response": response})
	return &http.Response{
		StatusCode: code,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(bytes.NewReader(encoded(answer))),
		Request:    of,
	}, nil
}

// act carries out a request, and returns the code and the answer.
func (s *server) act(asked request, body []byte) (int, object) {
	var given object
	if asked.verb == "create" || asked.verb == "update" {
		check(json.Unmarshal(body, &given))
		asked.name = given["metadata"].(object)["name"].(string)
	}
	key := asked.resource + "/" + asked.name
	stored, exists := s.objects[key]
	switch {
	case asked.verb == "create" && exists:
		return 409, status(409, "AlreadyExists", fmt.Sprintf("%s %q already exists", asked.resource, asked.name))
	case asked.verb == "create":
		s.uids++
		given["metadata"].(object)["uid"] = fmt.Sprintf("uid-%d", s.uids)
		s.objects[key] = s.bump(given)
		return 201, given
	case !exists:
		return 404, status(404, "NotFound", fmt.Sprintf("%s %q not found", asked.resource, asked.name))
	case asked.verb == "get":
		return 200, stored
	case asked.verb == "patch":
		s.objects[key] = s.bump(merged(asked.resource, stored, body))
	case asked.verb == "update":
		metadata := given["metadata"].(object)
		if version := metadata["resourceVersion"]; version != nil && version != stored["metadata"].(object)["resourceVersion"] {
			return 409, status(409, "Conflict", fmt.Sprintf(
				"Operation cannot be fulfilled on %s %q: the object has been modified; please apply your changes "+
					"to the latest version and try again", asked.resource, asked.name))
		}
		s.objects[key] = s.bump(given)
	}
	return 200, s.objects[key]
}

func merged(resource string, stored object, patch []byte) object {
	var schema any = v1.Node{}
	if resource == "events" {
		schema = v1.Event{}
	}
	var result object
	check(json.Unmarshal(must(strategicpatch.StrategicMergePatch(encoded(stored), patch, schema)), &result))
	return result
}
