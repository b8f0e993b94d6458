"""Puts bugs into the middle of the library that only an order of events shows, and reports which of them the driver of
Tests/Interleavings does not find, and how many seeds the others take.
usage: Tests/Mutation/interleavings.py [SEEDS [NUMBER...]]

All are compiled into one optimised build of a copy of the tree, and switched on by $CACHEFETCH_MUTANT.
"""
import os
import pathlib
import re
import subprocess
import sys

import mutate

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TREE = ROOT / ".build" / "mutate-interleavings"
SWITCH = """internal import PlatformC

/// The number of the bug that is switched on.
let mutant = getenv("CACHEFETCH_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0
"""
# What is wrong, and the changes of a file that make it so: N stands for the number.
MUTANTS = [
    ("loads join while decoders look at the body", [
        ("DataService/Exchange/Exchange.swift",
         "    closeToNewLoads()\n    return await refusal", "    if mutant != N { closeToNewLoads() }\n    return await refusal")]),
    ("a row is written without a claim", [
        ("DataService/Exchange/Exchange.swift", "claims > 0 || fini", "mutant == N || claims > 0 || fini")]),
    ("what waits in the port hears of no close", [
        ("DataService/Service/Port.swift",
         "defer { state.waiting = [] }\n      return state.waiting\n    }\n    withExt",
         "defer { if mutant != N { state.waiting = [] } }\n      return state.waiting\n    }\n    withExt")]),
    ("the last load that leaves does not stop the exchange", [
        ("DataService/Exchange/Exchange.swift",
         "guard !isWriting, isUnwanted else", "guard mutant != N, !isWriting, isUnwanted else")]),
    ("a claim does not look for a cancel", [
        ("DataService/Service/Wanted.swift", "while old & Bit.cancelled == 0 ||",
         "while mutant == N || old & Bit.cancelled == 0 ||")]),
    ("a load that was stopped on its way to the network thread goes on", [
        ("DataService/Load/Load.swift", "if wanted.isCancelled || wanted.isStopped {",
         "if wanted.isCancelled || mutant != N && wanted.isStopped {")]),
    ("a load that was cancelled on its way to the network thread goes on", [
        ("DataService/Load/Load.swift", "if wanted.isCancelled ||", "if mutant != N && wanted.isCancelled ||")]),
    ("the stored response is delivered behind what came meanwhile", [
        ("DataService/Service/Port.swift", "$0.hasDelivered ? .nowhere", "mutant != N && $0.hasDelivered ? .nowhere")]),
    ("a lease is given back before the commit", [
        ("DataService/Exchange/Commit.swift",
         "    let reply = await reply(to: answer, collected)\n",
         "    if mutant == N { exchange.endLease(storedRow: true) }\n"
         "    let reply = await reply(to: answer, collected)\n")]),
    ("an exchange that is being stopped may be joined", [
        ("DataService/Exchange/Exchange.swift", "guard isOpen, !isStopped, waiter", "guard isOpen, mutant == N || !isStopped, waiter"),
        ("DataService/Exchange/Exchange.swift", "    closeToNewLoads()\n    isStopped = true",
         "    if mutant != N { closeToNewLoads() }\n    isStopped = true")]),
    ("fresh-only joins what has asked", [
        ("DataService/Exchange/Exchange.swift", "waiter.mayFollow || !hasAsked", "mutant == N || waiter.mayFollow || !hasAsked")]),
    ("others join what a removal has outdated", [
        ("DataService/Service/ExchangesUnderWay.swift", "for exchange in found { detach", "for exchange in found where mutant != N { detach")]),
    ("progress is reported after a cancel", [
        ("DataService/Service/Port.swift", "if !self.isClosed { progress", "if mutant == N || !self.isClosed { progress"),
        ("DataService/Load/Load.swift", "!wanted.isCancelled else { return }\n    switch", "mutant == N || !wanted.isCancelled else { return }\n    switch")]),
    ("nothing asks about a sign-out where nothing is written", [
        ("DataService/Service/AccountGeneration.swift", "guard !account.isEmpty, hasBegun", "guard mutant != N, !account.isEmpty, hasBegun")]),
    ("the judges are not asked", [
        ("DataService/Exchange/Exchange.swift", "by: waiters + judges)", "by: mutant == N ? waiters : waiters + judges)")]),
    ("an exchange is not forgotten", [
        ("DataService/Exchange/ExchangeRun.swift", "    core.engine.exchanges.forget(exchange)", "    if mutant != N { core.engine.exchanges.forget(exchange) }")]),
    ("a load that has its last delivery waits for no write", [
        ("DataService/Load/Load.swift", "guard machine.hasEnded, exchange == nil,", "guard machine.hasEnded, mutant == N || exchange == nil,")]),
    ("an exchange asks again for loads that have left", [
        ("DataService/Exchange/Exchange.swift", "    if isUnwanted { stopUnwanted() }", "    if mutant != N, isUnwanted { stopUnwanted() }"),
        ("DataService/Exchange/Exchange.swift", "waiter.load.release() }\n    try check()", "waiter.load.release() }\n    if mutant != N { try check() }")]),
    ("an exchange of a signed-out account goes on", [
        ("DataService/Load/ServiceCore+Load.swift", "where condition(exchange.prepared) {", "where mutant != N && condition(exchange.prepared) {")]),
    ("the row that comes late is not delivered", [
        ("DataService/Load/LoadMachine.swift", "      isPastDeadline = true\n", "      isPastDeadline = mutant != N\n")]),
    ("whoever reads a sequence is not told of its end", [
        ("DataService/Service/Port.swift", "reader?.resume(returning: nil)", "if mutant != N { reader?.resume(returning: nil) }")]),
]


def build():
    mutate.TREE = TREE
    mutate.copy_tree()
    for number, (what, changes) in enumerate(MUTANTS, 1):
        for path, old, new in changes:
            file = TREE / "Sources" / path
            text = file.read_text()
            if text.count(old) != 1:
                sys.exit(f"error: {what}: {path} has {text.count(old)} of: {old}")
            file.write_text(text.replace(old, re.sub(r"(mutant [!=]=) N\b", rf"\1 {number}", new)))
    (TREE / "Sources" / "DataService" / "Mutant.swift").write_text(SWITCH)
    subprocess.run(["scripts/build-release", "Interleavings"], cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    return TREE / ".build" / "ship" / "release" / "Interleavings"


def main():
    seeds = sys.argv[1] if len(sys.argv) > 1 else "20000"
    chosen = [int(number) for number in sys.argv[2:]] or range(1, len(MUTANTS) + 1)
    program = build()
    missed = 0
    for number in chosen:
        environment = dict(os.environ, CACHEFETCH_MUTANT=str(number), SWIFT_DETERMINISTIC_HASHING="1")
        try:
            run = subprocess.run([program, seeds], env=environment, capture_output=True, text=True, timeout=600)
            found = [line for line in run.stdout.splitlines() if line.startswith("seed ")]
            if run.returncode not in (0, 1):
                found.append(f"it ends with {run.returncode}")
        except subprocess.TimeoutExpired:
            found = ["it does not end"]
        missed += not found
        print(f"{number}. {MUTANTS[number - 1][0]}: {'; '.join(found) or 'NOT FOUND'}", flush=True)
    sys.exit(min(missed, 1))


main()
