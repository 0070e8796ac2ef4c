package hocon

import (
	"strings"
	"testing"
)

// TestParseErrors: every error says where and what would be right.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a=1\n}", "2:1: this '}' closes nothing"},
		{"a { b = 1", "1:3: the '}' that closes this '{' is missing"},
		{"a = [1, 2", "1:5: the ']' that closes this '[' is missing"},
		{"a = [1\n}", "2:1: this '}' closes nothing; ']' or a new element"},
		{"a = 1 ]", "1:7: this ']' closes nothing"},
		{"a = {b = 1]", "1:11: this ']' closes nothing; '}' or a new field"},
		{"{a = 1} b = 2", "1:9: nothing may follow"},
		{"[1]", "1:1: the document is an array"},
		{"a = foo@bar", "1:8: '@' is not allowed in unquoted text; put the text in double quotes"},
		{"a = nats://h:4222", "1:9: ':' is not allowed in unquoted text; put the text in double quotes"},
		{"a=1 b=2", "1:6: '=' is not allowed in unquoted text"},
		{"a = foo$bar", "1:8: '$' starts a substitution"},
		{"a = C:\\x", "1:6: ':' is not allowed"},
		{"a = x\\y", "1:6: a backslash is not allowed outside of quotes"},
		{"a = 1+2", "1:6: '+' is not allowed"},
		{"a = \x01", "1:5: the control character U+0001"},
		{"a = \"x\x01\"", "1:7: the control character U+0001 is not allowed in double quotes; write \\u0001"},
		{"a = \"x\ty\"", "1:7: the control character U+0009"},
		{"a = \"x\ny\"", "1:7: a string in double quotes cannot go over several lines"},
		{"ab = \"x", "1:6: the closing double quote"},
		{"a = \"\"\"x\n\n", "1:5: the closing \"\"\""},
		{"a = \"\\q\"", "1:6: '\\q' is no escape"},
		{"a = \"\\u12g4\"", "1:6: \\u must be followed by four"},
		{"a = \"\\u12", "1:6: \\u must be followed by four"},
		{"a = \"\\ud83d x\"", "1:6: \\ud83d is half of a surrogate pair"},
		{"a = \"\\ud83d\\u0041\"", "1:6: \\ud83d is half of a surrogate pair"},
		{"a = \"\\", "1:6: the string ends in the middle of an escape"},
		{"a = ", "1:5: the value of the key a is missing; write \"\""},
		{"a", "1:1: the key a has no value; write a = value"},
		{"a b\nc = 1", "2:1: '=', ':', '+=' or '{' must follow the key \"a b\""},
		{"a = , b = 1", "1:5: the value of the key a is missing"},
		{"a = 1,, b = 2", "1:7: there is no field before this comma"},
		{", a = 1", "1:1: there is no field before this comma"},
		{"a = [,1]", "1:6: there is no element before this comma"},
		{"a = [1,,2]", "1:8: there is no element before this comma"},
		{"a = [x y: 1]", "1:9: ':' is not allowed in unquoted text"},
		{"a {b=1} c = 2", "1:11: '=' is not allowed"},
		{"a = [1]\n[2]", "2:1: '[' is not allowed"},
		{"= 1", "1:1: there is no key before this"},
		{"a..b = 1", "1:1: the key has a dot with nothing before or behind it"},
		{"a. = 1", "1:1: the key has a dot with nothing"},
		{".a = 1", "1:1: the key has a dot with nothing"},
		{"a ? b = 1", "1:3: '=', ':', '+=' or '{' must follow the key a"},
		{"a = ${}", "1:5: the substitution has no path"},
		{"a = ${b", "1:5: the '}' that closes this substitution"},
		{"a = ${b\n}", "1:5: the '}' that closes this substitution"},
		{"a = ${b c:d}", "1:5: the '}' that closes this substitution"},
		{"a = ${b..c}", "1:7: the substitution has a dot"},
		{"a = x [1]", "1:5: text cannot stand beside an object or an array"},
		{"a = {b=1} 5", "1:11: text cannot stand beside"},
		{"include = 1", "1:1: after include a file name in double quotes must follow; for a key of that name write \"include\""},
		{"include foo", "1:1: after include a file name"},
		{"include \"\"", "1:1: the name of the file to include is empty"},
		{"include required(\"x\"", "1:21: the ')' behind the file name is missing"},
		{"include file(\"x\" a", "1:18: the ')' behind"},
		{"include url(\"http://x\")", "1:1: only files can be included"},
		{"include classpath(\"x\")", "1:1: only files can be included"},
		{"include required(classpath(\"x\"))", "1:1: only files can be included"},
		{"include required(\"nope.conf\")", "1:1: there is no file nope.conf, and this include is required"},
		{"include \"x.conf\" a = 1", "1:18: a comma or a new line must separate this"},
		{"a = 1\nb = \xff", "2:5: the byte 0xff is not UTF-8"},
		{"ключ = \"значение\" = 1", "1:19: '=' is not allowed"},
	} {
		t.Run(c.text, func(t *testing.T) {
			_, err := load(map[string]string{"main.conf": c.text}, goldenEnv)
			if err == nil || !strings.HasPrefix(err.Error(), "main.conf:"+c.want) {
				t.Errorf("got  %v\nwant main.conf:%s", err, c.want)
			}
		})
	}
}

// TestResolveErrors: the place is that of the substitution, and a cycle is called one.
func TestResolveErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a = 1\nb = x ${c.\"d.e\"}", "2:7: ${c.\"d.e\"} has no value, neither in the configuration nor in the environment; define it, or write ${?c.\"d.e\"}"},
		{"a=${b}\nb=${c}\nc=${a}", "3:3: ${a} refers to itself, and there is no earlier value to look back at: ${b} > ${c} > ${a}"},
		{"a = ${a}", "1:5: ${a} refers to itself"},
		{"a = {b = ${a}}", "1:6: a.b: the object contains itself"},
		{"a = [1, [${b}]]\nb { c = ${a} }", "2:5: a.1.0.c: the object contains itself"},
		{"a = 1\na += 2", "2:6: += adds to an array, but the value before is a number"},
		{"a = {x = 1}\na += 2", "2:6: += adds to an array, but the value before is an object"},
		{"o = {x = 1}\na = [1] ${o}", "2:5: an object and an array cannot be concatenated"},
		{"o = x\na = [1] ${o}", "2:5: text, numbers and booleans cannot be concatenated"},
		{"a = ${HOCON_HOST} {b = 1}", "1:5: text, numbers and booleans cannot be concatenated"},
	} {
		t.Run(c.text, func(t *testing.T) {
			_, err := load(map[string]string{"main.conf": c.text}, goldenEnv)
			if err == nil || !strings.HasPrefix(err.Error(), "main.conf:"+c.want) {
				t.Errorf("got  %v\nwant main.conf:%s", err, c.want)
			}
		})
	}
}

func TestQuotedPaths(t *testing.T) {
	for text, keys := range map[string][]string{
		"a.b": {"a", "b"}, `"a.b".c`: {"a.b", "c"}, `""`: {""}, `a."".b`: {"a", "", "b"}, `"x y"`: {"x y"}, `"\u0001"`: {"\x01"},
		"a-b_c.10": {"a-b_c", "10"}, `"[]"`: {"[]"}, `"//x"`: {"//x"}, "é": {"é"},
	} {
		got, err := splitPath(text)
		if err != nil || strings.Join(got, "|") != strings.Join(keys, "|") || len(got) != len(keys) {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
		again, err := splitPath(joinPath(keys))
		if err != nil || strings.Join(again, "|") != strings.Join(keys, "|") {
			t.Errorf("%s: joined %s, split again %q, %v", text, joinPath(keys), again, err)
		}
	}
}
