# Functions with first instructions that are hard to move.
    .intel_syntax noprefix
    .text
    .macro begin name
    .globl \name
    .type \name, @function
\name:
    .endm
    .macro end name
    .size \name, . - \name
    .endm

    .p2align 4
begin only_return
    ret
end only_return

    .p2align 4
begin loop_first
    dec edi
    jne loop_first
    mov eax, 11
    ret
end loop_first

    .p2align 4
begin loop_inside
    xor eax, eax
1:  add eax, edi
    dec edi
    jne 1b
    ret
end loop_inside
    .p2align 4
    .nops 16

begin loop_no_room
    xor eax, eax
1:  add eax, edi
    dec edi
    jne 1b
    ret
end loop_no_room
begin call_first
    call read_near
    add eax, 1
    ret
end call_first

    .p2align 4
begin call_register
    sub rsp, 8
    call rdi
    add rsp, 8
    ret
end call_register

    .p2align 4
begin call_stack
    push rdi
    call [rsp]
    add rsp, 8
    ret
end call_stack

# The first call returns into the bytes of a jump.
    .p2align 4
begin call_twice
    push rdi
    call rdi
    pop rdi
    jmp rdi
end call_twice

    .p2align 4
begin read_near
    mov eax, dword ptr [rip + number]
    ret
end read_near

    .p2align 4
begin branch_early
    test edi, edi
    jle 1f
    mov eax, 1
    ret
1:  mov eax, 2
    ret
end branch_early

    .p2align 4
begin jump_zero
    mov rcx, rdi
    jrcxz 1f
    mov eax, 3
    ret
1:  mov eax, 4
    ret
end jump_zero

    .p2align 4
begin jump_away
    jmp read_near
end jump_away

    .p2align 4
begin short_end
    mov eax, edi
    ret
end short_end
    .byte 0, 0, 0, 0, 0, 0

    .p2align 4
begin with_landing
    endbr64
    push rbx
    mov eax, 5
    pop rbx
    ret
end with_landing

    .p2align 4
begin never_runs
    ud2
end never_runs

    .p2align 4
begin no_instruction
    .byte 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e
    ret
end no_instruction

# Every register and flag, across a function that touches none: a bit for each that was not kept.
    .p2align 4
begin keep_registers
    push rbx
    push rbp
    xor ebx, ebx
    mov rbp, rsp
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    mov eax, 100 + \n
    movd xmm\n, eax
    .endr
    fld1
    mov rcx, 2
    mov rdx, 3
    mov rsi, 4
    mov rdi, 5
    mov r8, 6
    mov r9, 7
    mov r10, 8
    mov r11, 9
    mov al, 0x7f
    add al, 1           # overflow, sign, no carry
    mov rax, 1
    call only_return
    seto bl
    sets bh
    jnc 1f
    or ebx, 0x10
1:  xor ebx, 0x101
    .macro expect register, value, bit
    cmp \register, \value
    je 1f
    or ebx, \bit
1:
    .endm
    expect rax, 1, 0x100000
    expect rcx, 2, 0x200000
    expect rdx, 3, 0x400000
    expect rsi, 4, 0x800000
    expect rdi, 5, 0x1000000
    expect r8, 6, 0x2000000
    expect r9, 7, 0x4000000
    expect r10, 8, 0x8000000
    expect r11, 9, 0x10000000
    expect rsp, rbp, 0x20000000
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movd eax, xmm\n
    expect eax, 100 + \n, 0x40000000
    .endr
    push 0
    fistp dword ptr [rsp]
    pop rax
    expect rax, 1, 0x80000
    mov eax, ebx
    pop rbp
    pop rbx
    ret
end keep_registers

    .data
number:
    .long 42
    .section .note.GNU-stack, "", @progbits
