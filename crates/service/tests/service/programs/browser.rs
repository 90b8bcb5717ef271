//! A real browser, without a window: Chromium, told over two pipes what to do.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};
use vorrang_testkit::Folder;

use crate::support::{PATIENCE, wait_for};

/// What distributions call it.
const NAMES: [&str; 2] = ["chromium", "chromium-browser"];

/// It reads commands from its file 3, and answers on its file 4.
const START: &str = "exec \"$0\" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --no-first-run --remote-debugging-pipe \"$@\" about:blank 3<&0 4>&1 </dev/null >&2";

/// A browser with one page. It ends when this is dropped.
pub(crate) struct Browser {
    child: Child,
    /// None when it is to end.
    commands: Option<ChildStdin>,
    answers: Receiver<Value>,
    said: u64,
    session: Value,
}

impl Browser {
    /// One that shows this address; none, and a sentence that says so, if none is installed.
    pub(crate) fn open(folder: &Folder, address: &str) -> Option<Self> {
        let is_there = |name: &&&str| {
            let asked = Command::new(name).arg("--version").stdin(Stdio::null()).output();
            asked.is_ok_and(|it| it.status.success())
        };
        let Some(name) = NAMES.iter().find(is_there) else {
            // Not by a macro: what those print of tests that pass is thrown away.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: the page is not tested in a browser, since there is no chromium here \
                 (apt-get install chromium)"
            );
            return None;
        };
        let mut child = Command::new("sh")
            .args(["-c", START, name])
            .arg(format!("--user-data-dir={}", folder.path("browser")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let (commands, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let (send, answers) = channel();
        thread::spawn(move || {
            for answer in BufReader::new(output).split(0).map_while(Result::ok) {
                let answer = serde_json::from_slice(&answer).expect("it answers with JSON");
                if send.send(answer).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self { child, commands, answers, said: 0, session: Value::Null };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session = browser.call("Target.attachToTarget", &target)["sessionId"].clone();
        browser.call("Page.enable", &json!({}));
        browser.call("Page.navigate", &json!({ "url": address }));
        Some(browser)
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.said += 1;
        let mut command = json!({ "id": self.said, "method": method, "params": parameters });
        if !self.session.is_null() {
            command["sessionId"] = self.session.clone();
        }
        let pipe = self.commands.as_mut().expect("it has not ended");
        pipe.write_all(format!("{command}\0").as_bytes()).expect("it reads");
        loop {
            let answer = self.answers.recv_timeout(PATIENCE);
            let mut answer = answer.unwrap_or_else(|why| panic!("no answer to {method}: {why}"));
            // A page that opens one has been made to run what it should have shown.
            assert_ne!(answer["method"], "Page.javascriptDialogOpening", "{answer}");
            if answer["id"] == self.said {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    /// What this comes to in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", &parameters);
        // While another page is loaded there is none.
        answer["result"]["value"].take()
    }

    /// What somebody reads who looks at what fits this selector; nothing if it is hidden.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let selector = Value::from(selector);
        let text = self.evaluate(&format!(
            "[...document.querySelectorAll({selector})]\
             .map((it) => it.checkVisibility() ? it.innerText : '').join('\\n')"
        ));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until all of this can be read there.
    #[track_caller]
    pub(crate) fn shows(&mut self, selector: &str, all: &[&str]) {
        let what = format!("{selector} with {all:?}");
        wait_for(&what, || {
            let text = self.text(selector);
            all.iter().all(|it| text.contains(it)).then_some(())
        });
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if thread::panicking() && self.commands.is_some() {
            eprintln!("a browser is ended early");
        }
        // Without somebody who tells it what to do it ends.
        self.commands = None;
        let _ = self.child.wait();
    }
}
