//! Who pays for a run and where it keeps what it releases: begun, gone on with, and given up.

use std::path::Path;

use reticent::budget::Unlimited;
use reticent_ledger::{Run, State, Token};
use serde_json::Value;

use crate::fit::Args;
use crate::journal::{self, Fault, Header, Journal, Left, Replay, Tail};
use crate::ledger;
use crate::output::{self, Failure};
use crate::watched::{self, Charged, Fate, Watched};

/// Refuses to write over a file, before anything is spent. What the run itself has written before a crash may be replaced.
pub(crate) fn check_vacant(args: &Args) -> Result<(), Failure> {
    if args.force || args.resume || std::fs::symlink_metadata(&args.out).is_err() {
        return Ok(());
    }
    Err(exists(&args.out))
}

fn exists(out: &Path) -> Failure {
    let message = format!("{} already exists, and may have cost budget", out.display());
    Failure::failed(message, Some("choose another --out, or replace the file with --force".to_owned()))
}

/// The ledger and the journal of a run, which goes on from where it was if it should. Nothing is charged yet.
pub(crate) fn watched(args: &Args, of: &Value) -> Result<Watched, Failure> {
    begun_or_gone_on(args, of).map_err(|failure| kept(args, failure))
}

/// A failure before a run goes on leaves it as it was.
pub(crate) fn kept(args: &Args, failure: Failure) -> Failure {
    if !args.resume {
        return failure;
    }
    let Failure { message, hint, code } = failure;
    let kept = "what was charged stays charged, and nothing is lost as long as the journal is kept";
    Failure { message, hint: Some(hint.map_or_else(String::new, |hint| format!("{hint}; ")) + kept), code }
}

fn begun_or_gone_on(args: &Args, of: &Value) -> Result<Watched, Failure> {
    if args.no_privacy {
        watched::listen();
        return Ok(Watched::new(Charged::Nobody(Unlimited), None, args.quiet));
    }
    let opened = args.ledger.as_ref().map(reticent_ledger::Ledger::open).transpose()?;
    let path = journal::beside(&args.out);
    let left = left(args, of, &path, opened.as_ref())?;
    let (journal, replay, token, digests) = match left {
        Some(left) => go_on(args, left, opened.as_ref())?,
        None => begin(of, &path, opened.as_ref())?,
    };
    let charged = match (opened, &args.data_set, token) {
        (Some(opened), Some(data_set), Some(token)) => {
            let recorded = opened.account(data_set)?.data_set.schema_fingerprint;
            let fingerprint = match recorded.as_str() {
                ledger::NO_SCHEMA => recorded,
                _ => ledger::schema_fingerprint(&args.schema)?,
            };
            let run = Run::new(opened, data_set, &fingerprint, &format!("fit {}", args.model));
            let place = std::path::absolute(&path).unwrap_or(path);
            Charged::DataSet(Box::new(run.journalled(token, place, digests)))
        }
        _ => Charged::Nobody(Unlimited),
    };
    watched::listen();
    Ok(Watched::new(charged, Some((journal, replay)), args.quiet))
}

type Begun = (Journal, Option<Replay>, Option<Token>, Vec<String>);

fn begin(of: &Value, path: &Path, ledger: Option<&reticent_ledger::Ledger>) -> Result<Begun, Failure> {
    let token = ledger.map(reticent_ledger::Ledger::token).transpose()?;
    let header = Header { of: of.clone(), token: token.as_ref().map(|token| token.text().to_owned()) };
    // Before the ledger has the run, so that a run that was killed in between finds itself again.
    let journal = Journal::create(path, &header).map_err(|error| output::not_written(path, &error))?;
    let digests = vec![journal.digest()];
    Ok((journal, None, token, digests))
}

fn go_on(args: &Args, left: Left, ledger: Option<&reticent_ledger::Ledger>) -> Result<Begun, Failure> {
    if !args.force && std::fs::symlink_metadata(&args.out).is_ok() {
        let found = std::fs::read(&args.out).map(|bytes| journal::sha256(&bytes)).ok();
        if !found.is_some_and(|found| left.models.contains(&found)) {
            return Err(exists(&args.out));
        }
    }
    let token = left.header.token.as_deref().map(Token::from_text);
    let nonce = ledger.map(reticent_ledger::Ledger::token).transpose()?;
    let mut digests: Vec<String> = left.digests.iter().map(journal::hex).collect();
    let path = journal::beside(&args.out);
    let (journal, replay) = left
        .resume(nonce.map_or_else(String::new, |nonce| nonce.text().to_owned()))
        .map_err(|error| output::not_written(&path, &error))?;
    digests.push(journal.digest());
    Ok((journal, Some(replay), token, digests))
}

/// The journal that a run with this `--out` has left, if it is to be gone on with. One in which nothing is, and for which nothing
/// is charged, is removed.
fn left(
    args: &Args,
    of: &Value,
    path: &Path,
    ledger: Option<&reticent_ledger::Ledger>,
) -> Result<Option<Left>, Failure> {
    let wrong =
        |why: &str, hint: &str| Failure::failed(format!("{}: {why}", path.display()), Some(hint.to_owned()));
    let left = match Left::open(path) {
        Ok(left) => left,
        Err(Fault::Missing) if !args.resume => return Ok(None),
        Err(Fault::Missing) => {
            let hint = "leave --resume out to start anew; `reticent ledger show` names the journals of runs that can go on";
            return Err(wrong("there is no journal to go on from", hint));
        }
        Err(Fault::InUse) => {
            return Err(wrong(
                "another run with this --out is going on",
                "wait for it, or choose another --out",
            ));
        }
        Err(Fault::NotAJournal) => {
            let hint = "restore a copy of it, or delete it to give that run up";
            return Err(wrong("this is no journal of a run, or it is damaged", hint));
        }
        Err(Fault::Io(error)) => return Err(wrong(&error.to_string(), "check the disk and the permissions")),
    };
    let token = left.header.token.as_deref().map(Token::from_text);
    let charge = match (&token, ledger) {
        (Some(token), Some(ledger)) => ledger.look_up(token)?,
        _ => None,
    };
    let state = charge.as_ref().map(|(state, _)| *state);
    let known = token.is_none() || ledger.is_some();
    if left.releases == 0
        && known
        && matches!(state, None | Some(State::Cancelled))
        && left.tail != Tail::Damaged
    {
        left.remove().map_err(|error| output::not_written(path, &error))?;
        return Ok(None);
    }
    if !args.resume {
        let hint = "go on with --resume at no further cost, choose another --out, or delete the journal to give that run up";
        return Err(wrong("a run with this --out was interrupted", hint));
    }
    check_same(&left.header.of, of, &wrong)?;
    let cut = left.end();
    match (token.is_some(), charge) {
        (false, _) if left.tail == Tail::Damaged => {
            let why = format!("the journal is damaged from byte {cut} on");
            Err(wrong(&why, "restore a copy of it, or delete it to give that run up"))
        }
        (true, None) => {
            Err(wrong("the run is not in this ledger", "give the --ledger that it is charged to"))
        }
        (true, Some((State::Started | State::Settled, recorded)))
            if !recorded
                .as_ref()
                .is_some_and(|digest| left.digests.iter().any(|known| journal::hex(known) == *digest)) =>
        {
            let why = match left.tail {
                Tail::None => "the run has gone further than this journal".to_owned(),
                _ => format!("the journal is damaged from byte {cut} on, and the run had gone further"),
            };
            Err(wrong(&why, "only the newest journal of a run goes on: put it in this place"))
        }
        _ => Ok(Some(left)),
    }
}

/// A run that goes on must be the same: what differs is named.
fn check_same(before: &Value, now: &Value, wrong: &dyn Fn(&str, &str) -> Failure) -> Result<(), Failure> {
    if before == now {
        return Ok(());
    }
    let names = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
    let mut names = [names(before).unwrap_or_default(), names(now).unwrap_or_default()].concat();
    names.sort();
    names.dedup();
    names.retain(|name| before.get(name) != now.get(name));
    let hint = "give the options, schema and data that the run was begun with";
    Err(wrong(&format!("the journal is of another run: it differs in {}", names.join(", ")), hint))
}

/// What has become of a run that has failed or was stopped, and what can be done about it.
pub(crate) fn unfinished(args: &Args, watched: &Watched, failure: Failure) -> Failure {
    let stopped = watched::was_stopped();
    if args.no_privacy {
        let message = "stopped; no model was written, and nothing was charged";
        return if stopped { Failure::failed(message, Some("start anew".to_owned())) } else { failure };
    }
    let (fate, fault) = watched.abandon();
    let Failure { mut message, mut hint, code } = failure;
    if stopped {
        (message, hint) = ("stopped; no model was written".to_owned(), None);
    } else if let Some(fault) = fault {
        // The failure itself may depend on releases that will be made again. Why they were not kept does not.
        let (why, todo) = fault.split_once("\nhint: ").unwrap_or((&fault, "check the disk"));
        (message, hint) = (format!("the run could not be finished: {why}"), Some(todo.to_owned()));
    }
    let journal = journal::beside(&args.out);
    let journal = journal.display();
    let cause = hint.map_or_else(String::new, |hint| format!("{hint}; "));
    let (kept, todo) = match (fate, &args.ledger) {
        (Fate::Void, _) => {
            let hint = if cause.is_empty() { "start anew; ".to_owned() } else { cause };
            let hint = hint.trim_end_matches("; ").to_owned();
            let message = if stopped { format!("{message}, and nothing was charged") } else { message };
            return Failure { message, hint: Some(hint), code };
        }
        (Fate::Reserved(Some(id)), Some(ledger)) => (
            "what was reserved stays charged, and nothing was released",
            format!(
                "`reticent ledger cancel {} {id}` gives it back, or the same command with --resume uses it",
                ledger.display()
            ),
        ),
        (Fate::Reserved(_), _) => (
            "what was reserved, if anything, stays charged, and nothing was released",
            "the same command with --resume uses it".to_owned(),
        ),
        (Fate::Resumable, charged) => (
            if charged.is_some() {
                "what was reserved stays charged in the ledger"
            } else {
                "what has been released stays spent"
            },
            format!("the same command with --resume goes on from {journal} at no further cost"),
        ),
    };
    Failure { message: format!("{message}; {kept}"), hint: Some(format!("{cause}{todo}")), code: 1 }
}
