//! Tests with x86-64 code as an assembler writes it.

use super::*;

/// Checks the first fault of `code`, that of a called function: its instruction, offset and alignment.
#[track_caller]
fn check(code: &str, expected: Option<(&str, u64, u64)>) {
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    let digits: String = lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
    let fault = first_fault(&bytes, 0x1000, Entry::Called).map(|fault| fault.in_function("f"));
    let found = fault.as_ref().map(|found| (&*found.instruction, found.off_by, found.wanted));
    assert_eq!(found, expected, "{code}");
}

/// Code as `MpiTransport::find` was compiled: one slot of the frame is aligned to 8 bytes and written as if to 16.
#[test]
fn a_slot_that_is_written_more_aligned_than_it_lies_is_found() {
    let save_all = "55 4157 4156 4155 4154 53 // push rbp, r15, r14, r13, r12, rbx\n";
    let flawed = "4881ec18010000   // sub rsp, 118h
        0f298424a0000000 // movaps [rsp+0a0h], xmm0
        0f298c2408010000 // movaps [rsp+108h], xmm1
        4881c418010000   // add rsp, 118h";
    let restore_all = "5b 415c 415d 415e 415f 5d c3";
    let code = format!("{save_all}{flawed}\n{restore_all}");
    check(&code, Some(("movaps", 8, 16)));
    check(&code.replace("0f298c2408", "0f298c2400"), None);
    // An operand of `movups` may lie anywhere.
    check(&code.replace("0f298c", "0f118c"), None);
}

#[test]
fn a_stack_that_is_aligned_anew_is_aligned() {
    let code = "55             // push rbp
        4889e5         // mov rbp, rsp
        53             // push rbx
        4883e4e0       // and rsp, -32
        4883ec40       // sub rsp, 40h
        c5fc29442420   // vmovaps [rsp+20h], ymm0
        0f2845e0       // movaps xmm0, [rbp-20h]
        488d65f8       // lea rsp, [rbp-8]
        0f28442408     // movaps xmm0, [rsp+8]
        5b 5d c3";
    check(code, None);
    check(&code.replace("0f2845e0", "0f2845e8"), Some(("movaps", 8, 16)));
    check(&code.replace("fc29442420", "fc29442430"), Some(("vmovaps", 16, 32)));
    check(&code.replace("0f28442408", "0f28442400"), Some(("movaps", 8, 16)));
}

#[test]
fn an_address_in_another_register_is_followed_until_it_is_lost() {
    check(
        "488d442410 0f2800 c3 // lea rax, [rsp+10h]; movaps xmm0, [rax]",
        Some(("movaps", 8, 16)),
    );
    let called =
        "4883ec08 488d5c2408 ffd2 0f2803 // lea rbx, [rsp+8]; call rdx; movaps xmm0, [rbx]";
    check(called, Some(("movaps", 8, 16)));
    let clobbered =
        "4883ec08 488d442408 ffd2 0f2800 // the same in rax, which is another after the call";
    check(clobbered, None);
    check("488b442410 0f2800 c3 // mov rax, [rsp+10h]; movaps xmm0, [rax]", None);
}

#[test]
fn every_instruction_of_sse_is_strict_but_moves_that_are_named_so() {
    check("0f570424 c3 // xorps xmm0, [rsp]", Some(("xorps", 8, 16)));
    check("660ffe0424 c3 // paddd xmm0, [rsp]", Some(("paddd", 8, 16)));
    check("0f100424 c5fc100424 c5fc580c24 f20f580424 c3 // movups, vmovups, vaddps, addsd", None);
    check("c5f96f0424 c3 // vmovdqa xmm0, [rsp]", Some(("vmovdqa", 8, 16)));
    // The stack is only aligned to 16, so that it is unknown what lies at 32.
    check("c5fc29442408 c3 // vmovaps [rsp+8], ymm0", None);
    check("c5fc290424 c3 // vmovaps [rsp], ymm0", Some(("vmovaps", 8, 32)));
}

#[test]
fn pushed_arguments_move_the_stack() {
    let code = "4883ec18 50 51 // sub rsp, 18h; push rax; push rcx
        0f28442410     // movaps xmm0, [rsp+10h]
        ffd0           // call rax
        4883c410       // add rsp, 10h
        0f280424       // movaps xmm0, [rsp]
        4883c418 c3";
    check(code, None);
    check(&code.replace("51 //", "//"), Some(("movaps", 8, 16)));
}

#[test]
fn cases_and_landing_pads_are_looked_at() {
    let table = "4883ec18 ffe0 90 0f28442408 4883c418 c3 // jmp rax; case: movaps xmm0, [rsp+8]";
    check(table, Some(("movaps", 8, 16)));
    check(&table.replace("442408", "442410"), None);
    let pad = "4883ec18 ffd0 4883c418 c3 0f28442408 ffd0 0f0b // call rax; ret; pad: movaps xmm0, [rsp+8]";
    check(pad, Some(("movaps", 8, 16)));
}

#[test]
fn what_differs_on_two_ways_is_not_known() {
    check("85c0 7401 50 0f280424 c3 // je over: push rax; over: movaps xmm0, [rsp]", None);
    let code = "4883ec28 31c0   // sub rsp, 28h; xor eax, eax
        0f28440408       // again: movaps xmm0, [rsp+rax+8]
        4883c010         // add rax, 10h
        4883f820 75f1    // cmp rax, 20h; jne again
        4883c428 c3";
    check(code, Some(("movaps", 8, 16)));
    check(&code.replace("4883c010", "4883c008"), None);
}

#[test]
fn a_stack_of_unknown_size_is_not_known_until_it_is_left() {
    let code = "55 4889e5 4829c4 0f280424 c9 0f28442408 c3 // sub rsp, rax; movaps; leave; movaps";
    check(code, None);
    check(&code.replace("0f28442408", "0f280424"), Some(("movaps", 8, 16)));
}

/// The program of this test is an ELF file with symbols.
#[test]
fn a_program_is_read() {
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let findings = findings(&own).unwrap();
    assert!(1000 < findings.n_functions, "{}", findings.n_functions);
    assert_eq!(findings.misaligned, []);
}

#[test]
fn other_files_are_refused() {
    assert!(matches!(findings(b"#!/bin/sh\n"), Err(CodeError::Format(_))));
    assert!(matches!(findings(b"!<arch>\n"), Err(CodeError::NoFunctions)));
}
