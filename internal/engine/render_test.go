package engine

import (
	"os"
	"strings"
	"testing"
)

func TestCatalogue(t *testing.T) {
	e := shipped(t)
	seen := map[string]bool{}
	for _, c := range e.Codes() {
		if seen[c.Code] || c.Title == "" || c.Gate == "" || c.Remedy == "" {
			t.Errorf("code %+v", c)
		}
		seen[c.Code] = true
	}
	for _, code := range strings.Fields(`allowed unknown_tool tool_not_allowed unsupported_operation argument_withheld forbidden_path
		invalid_path outside_roots protected_file not_found no_access not_a_directory is_a_directory special_file symlink_loop
		link_target hard_link mount_crossing pseudo_fs file_too_large content_too_large command_not_allowed executable_untrusted
		sandbox_unavailable step_tool_not_allowed plan_complete plan_failed denial_budget_exhausted read_only_run contract_drift
		approval_required policy_undefined policy_error policy_conflict policy_timeout policy_bad_result malformed_call
		input_validation_failed ledger_failed ledger_busy handler_failed handler_timeout handler_cancelled object_changed output_validation_failed`) {
		if !seen[code] {
			t.Errorf("the catalogue lacks %s", code)
		}
	}
	r := e.Reason("contract_drift", "", "", nil)
	if r.Gate == "" || r.Remedy == "" || r.Message == "" {
		t.Errorf("reason %+v", r)
	}
	if r := GoReason("ledger_busy", "", "", nil); !r.Retryable || r.Gate != "record" || r.Message == "" {
		t.Errorf("reason %+v", r)
	}
	if r := GoReason("no_such_code", "m", "p", nil); r.Code != "no_such_code" || r.Message != "m" || r.Retryable {
		t.Errorf("reason %+v", r)
	}
}

func TestRenderCodes(t *testing.T) {
	page := string(shipped(t).RenderCodes())
	for _, c := range shipped(t).Codes() {
		if n := strings.Count(page, "| `"+c.Code+"` |"); n != 1 {
			t.Errorf("%s stands %d times on the page", c.Code, n)
		}
	}
	if strings.Index(page, "`unknown_tool`") > strings.Index(page, "`outside_roots`") {
		t.Error("the page does not follow the order of reasons")
	}
}

func TestRenderInput(t *testing.T) {
	raw, err := os.ReadFile("../../schemas/input.json")
	if err != nil {
		t.Fatal(err)
	}
	page, err := RenderInput(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{
		"| `input.v` | integer |", "| `input.call.arguments` | object |", "| `input.targets` | list of object |",
		"| `input.targets[_].lexical.parent_escape` | boolean |", "| `input.tool.commands` | list of list of string |",
		"| `input.targets[_].below[_].folded` | string |",
	} {
		if !strings.Contains(string(page), field) {
			t.Errorf("no %s", field)
		}
	}
	if _, err := RenderInput([]byte("{")); err == nil {
		t.Error("half a schema is rendered")
	}
}
